/**
 * Runs the benchmarks, or those whose names are given, one after another; each prints its own figures.
 *
 *   npm run bench [-- git jobs …]
 *   npm run bench -- --help
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What each name runs, in this order. */
const BENCHMARKS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  git: [['git/write.ts'], ['git/read.ts'], ['git/objects.ts', '--rounds', '15']],
  ingest: [['ingest.ts'], ['ingest-postgres.ts']],
  jobs: [['jobs.ts']],
  lists: [['lists.ts']],
  security: [['payload-security.ts']],
  modes: [['modes.ts'], ['switch.ts']],
  'held-polls': [['held-polls.ts']],
  admission: [['admission-status.ts']],
  reconcile: [['reconcile.ts']],
};

/** Those that measure the programs as they are shipped. */
const NEED_A_BUILD = new Set(['reconcile']);

const names = process.argv.slice(2);
if (names.includes('--help') || names.includes('-h')) {
  const lines = Object.entries(BENCHMARKS).map(
    ([name, scripts]) => `  ${name.padEnd(12)}${scripts.map(([script]) => `bench/${script}`).join(', ')}\n`,
  );
  process.stdout.write(
    `usage: npm run bench [-- NAME …]\n\nWithout a name all of them, one after another. What each measures says its file's head:\n\n${lines.join('')}`,
  );
  process.exit(0);
}
const unknown = names.filter((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown.length > 0) {
  process.stderr.write(
    `there is no benchmark ${unknown.join(', ')}; there are ${Object.keys(BENCHMARKS).join(', ')}\n`,
  );
  process.exit(2);
}
let failed = false;
const run = (program: string, args: readonly string[]): void => {
  const { status } = spawnSync(program, args, { stdio: 'inherit' });
  failed ||= status !== 0;
};
for (const name of names.length === 0 ? Object.keys(BENCHMARKS) : names) {
  if (NEED_A_BUILD.has(name)) run('npm', ['run', '--silent', 'build']);
  for (const [script = '', ...options] of BENCHMARKS[name] ?? []) {
    process.stdout.write(`\n== ${name}: node bench/${script} ${options.join(' ')}\n`);
    const file = fileURLToPath(new URL(script, import.meta.url));
    run(process.execPath, [file, ...options]);
  }
}
process.exitCode = failed ? 1 : 0;
