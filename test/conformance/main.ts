import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { CHECKS } from './checks.ts';
import { printFinding, printSummary } from './print-report.ts';
import { runChecks, type Report } from './run-checks.ts';

const USAGE = `Checks a control plane against the agent protocol, rule by rule, over HTTP alone.

  node test/conformance/main.ts --url URL --registration-token T [--admin-token A] [--ca FILE] [--only PREFIX] [--json]

  --url                 the control plane's base URL
  --registration-token  an unused registration token of a cluster that nobody uses; the run uses it up
  --admin-token         also checks what takes clusters and intents: it makes its own clusters (slug conformance-…), and
                        deletes them and its catalog entry conformance-suite in the end
  --ca                  PEM roots to trust
  --only                only checks whose id begins so
  --json                the report as one JSON document

Tokens may come as SERVICE_CONFORMANCE_REGISTRATION_TOKEN and SERVICE_CONFORMANCE_ADMIN_TOKEN instead, which keeps them out
of the process list. A line of the report names a heading of docs/spec/agent-protocol.md, then the section of the
specification or of the decisions that it rests on, then the rule. Exit code 0: nothing failed; 1: something did; 2: the
checks could not be run.
`;

const options = {
  url: { type: 'string' },
  'registration-token': { type: 'string' },
  'admin-token': { type: 'string' },
  ca: { type: 'string' },
  only: { type: 'string', default: '' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

/** The command line is wrong: its usage is shown. Any other failure is told in one line. */
class UsageError extends Error {}

function readArguments() {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

async function main(): Promise<number> {
  const values = readArguments();
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const { url } = values;
  const registrationToken = values['registration-token'] ?? process.env['SERVICE_CONFORMANCE_REGISTRATION_TOKEN'];
  const adminToken = values['admin-token'] ?? process.env['SERVICE_CONFORMANCE_ADMIN_TOKEN'];
  if (url === undefined || registrationToken === undefined)
    throw new UsageError('--url and --registration-token are needed');
  if (!URL.canParse(url)) throw new UsageError('--url is not a URL');
  const checks = CHECKS.filter(({ id }) => id.startsWith(values.only));
  if (checks.length === 0) throw new UsageError(`no check begins with ${values.only}`);
  const report = await runChecks(
    {
      url,
      registrationToken,
      ...(adminToken === undefined ? {} : { adminToken }),
      ...(values.ca === undefined ? {} : { ca: readFileSync(values.ca, 'utf8') }),
    },
    checks,
    (finding) => {
      if (!values.json) process.stdout.write(printFinding(finding));
    },
  );
  process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : printSummary(report));
  return hasFailed(report) ? 1 : 0;
}

function hasFailed(report: Report): boolean {
  return report.findings.some(({ verdict }) => verdict === 'fail');
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(error instanceof UsageError ? `${message}\n\n${USAGE}` : `conformance: ${message}\n`);
    process.exitCode = 2;
  },
);
