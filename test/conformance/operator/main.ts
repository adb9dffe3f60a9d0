import { parseArgs } from 'node:util';
import { printFinding, printSummary } from '../print-report.ts';
import { OPERATOR_CHECKS } from './operator-checks.ts';
import { runOperatorChecks } from './run-operator-checks.ts';

const USAGE = `Checks the operator against the agent protocol, rule by rule, from what it sends: it plays a control plane that
fails on request, and a cluster in memory with a release controller. Nothing outside this process is touched.

  node test/conformance/operator/main.ts [--only PREFIX] [--json]

A line names a heading of docs/spec/agent-protocol.md, then the section of the specification or of the decisions that it rests
on, then the rule. Exit code 0: nothing failed; 1: something did; 2: the checks could not be run.
`;

const options = {
  only: { type: 'string', default: '' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

async function main(): Promise<number> {
  const { values } = parseArgs({ options });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const checks = OPERATOR_CHECKS.filter(({ id }) => id.startsWith(values.only));
  if (checks.length === 0) throw new Error(`no check begins with ${values.only}`);
  const findings = await runOperatorChecks(checks, (finding) => {
    if (!values.json) process.stdout.write(printFinding(finding));
  });
  const report = { findings, left: [] };
  process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : printSummary(report));
  return findings.some(({ verdict }) => verdict === 'fail') ? 1 : 0;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exitCode = 2;
  },
);
