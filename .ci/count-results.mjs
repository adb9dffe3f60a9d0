// node .ci/count-results.mjs FOLDER DEMOS: prints what the parts of a run came to, and all of it as one last line.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, demos] = process.argv.slice(2);
const total = { passed: 0, failed: 0, skipped: 0 };
const line = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`;
const print = (text) => process.stdout.write(`${text}\n`);

function add(name, counts) {
  for (const key of Object.keys(total)) total[key] += counts[key];
  print(`${name}: ${line(counts)}`);
}

function read(name) {
  const file = join(folder, `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

function count(tests) {
  const of = (...states) => tests.filter(({ status }) => states.includes(status)).length;
  return { passed: of('passed'), failed: of('failed'), skipped: of('pending', 'skipped', 'todo', 'disabled') };
}

for (const name of ['tests', 'images', 'container']) {
  const report = read(name);
  const counts = count((report?.testResults ?? []).flatMap((file) => file.assertionResults));
  // A file that could not be loaded has no test that failed.
  const broken = report === undefined || (!report.success && counts.failed === 0);
  add(name, broken ? { ...counts, failed: 1 } : counts);
  const contract = (report?.testResults ?? []).filter((file) => file.name.endsWith('/kube/cluster-contract.test.ts'));
  if (contract.length > 0) {
    print(
      `  of these the cluster contract on kube-apiserver: ${line(count(contract.flatMap((file) => file.assertionResults)))}`,
    );
  }
}
for (const name of demos.split(',')) {
  const done = existsSync(join(folder, `${name}.done`));
  add(name, { passed: done ? 1 : 0, failed: done ? 0 : 1, skipped: 0 });
}
print('');
print(line(total));
