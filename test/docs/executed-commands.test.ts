import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { RESTART } from '../control-plane/approvals/approving-cluster.ts';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { commandsOf, shellBlocks, type FencedCommand } from './fenced-commands.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');
const read = (document: string): string => readFileSync(join(ROOT, document), 'utf8');
const COMMANDS = ['README.md', ...globSync('{docs,examples}/**/*.md', { cwd: ROOT })]
  .sort()
  .flatMap((document) => shellBlocks(document, read(document)).flatMap(commandsOf));
const LIMIT_MS = 10_000;
/** What is said of a list that is empty. */
const NOTHING_ELSE = /^(?:There (?:is none|are no )[^\n]*\n)?$/;

/**
 * What is read by commands.test.ts alone, and why it is not run here. A new command is run until it stands here; so is what
 * would be written, with `--dry-run`, but for a mode, which only moves where an operator has registered.
 */
const NOT_RUN: readonly (readonly [why: string, pattern: RegExp])[] = [
  ['writes clusters', /^servicectl clusters (?:create|label|update|disable|delete|rebind|cancel-mode-switch) /],
  ['switches a mode', /^servicectl clusters mode /],
  ['makes a credential', /^servicectl clusters (?:install-command|recovery-command|registration-token|push-\w+) /],
  ['accepts removals of a revision', /^servicectl clusters accept-removals /],
  ['asks for a change', /^servicectl apps (?:install|upgrade|uninstall) /],
  ['goes on for as long as somebody watches', /^servicectl (?:.* )?--(?:follow|watch|wait|until)\b/],
  ['runs or ends an operation', /^servicectl operations (?:run|cancel|approve|reject) /],
  ['decides on a proposal', /^servicectl (?:--token-file \S+ )?proposals approve /],
  ['writes members', /^servicectl members (?:add|set|remove) /],
  ['writes organizations', /^servicectl organizations (?:create|delete|admin-token) /],
  ['makes a token', /^servicectl admin-tokens create /],
  ['writes the catalog', /^servicectl catalog (?:put|delete|login|logout) /],
  ['asks a registry', /^servicectl catalog (?:versions|upgrades .*--available)/],
  ['writes templates', /^servicectl templates (?:put|delete) /],
  ['writes webhooks', /^servicectl channel webhooks (?:add|test|delete) /],
  ["changes the reader's contexts", /^servicectl (?:login |logout$|contexts (?:use|rename|delete) )/],
  ['saves a filter', /^servicectl filters save /],
  ['moves files of a repository', /^servicectl repositories move-layout /],
  ['makes or uses the recovery key', /^servicectl (?:recovery-key create|reseal) /],
  ['asks a cluster', /^servicectl namespaces add/],
  ['writes by the API', /^(?:api|curl .*-X) (?:POST|PUT|PATCH|DELETE) /],
  ['is the function of the document that the others are called by', /^(?:api|servicectl|curl .*-K - .*)$/],
];

const lineOf = ({ words }: FencedCommand): string => words.join(' ');
const isRun = (command: FencedCommand): boolean =>
  /^(?!servicectl clusters mode ).* --dry-run\b/.test(lineOf(command)) ||
  !NOT_RUN.some(([, pattern]) => pattern.test(lineOf(command)));
const ofProgram = (...names: string[]): FencedCommand[] =>
  COMMANDS.filter(({ words: [name = ''] }) => names.includes(name));
const titled = (commands: readonly FencedCommand[]): [string, FencedCommand][] =>
  commands.map((command) => [`${command.document}:${command.line} ${lineOf(command)}`.slice(0, 160), command]);

const PROGRAMS = ofProgram('servicectl', 'api', 'curl');
const SERVICECTL = ofProgram('servicectl').filter(isRun);
const CALLS = ofProgram('api', 'curl').filter(isRun);

const folder = mkdtempSync(join(tmpdir(), 'executed-commands-'));
let plane: RunningControlPlane;
let env: Record<string, string>;
/** What documents call what only a reader's own control plane has a name for. */
let named: readonly (readonly [pattern: RegExp, value: string])[];

/** Never waits for another try: a test that is refused says so at once. */
const clock = {
  ...systemClock,
  now: () => systemClock.now(),
  sleep: () => Promise.reject(new Error('it wanted to try again')),
};

async function runServicectl(args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  const deps = { env, clock, out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  const code = await servicectl(args, deps);
  return { code, out, err };
}

async function asked(cluster: string, intent: Record<string, unknown>, state?: string): Promise<string> {
  const { status, body } = await plane.call('POST', `/clusters/${cluster}/intents`, intent);
  if (status !== 202) throw new Error(`${cluster}: ${status} ${JSON.stringify(body)}`);
  const id = String(body['id']);
  if (state !== undefined) await plane.until(id, state);
  return id;
}

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  const allowedOperationTemplates = ['rollout-restart', 'scale', 'velero-backup'];
  for (const slug of ['prod-eu', 'demo', 'eu', 'tutorial']) await plane.newCluster(slug, { allowedOperationTemplates });
  await plane.newCluster('lab', { connectivityMode: 'pull' });
  for (const cluster of ['prod-eu', 'tutorial']) await asked(cluster, INSTALL, 'delivered');
  writeFileSync(join(folder, 'intent.json'), JSON.stringify({ id: await asked('lab', INSTALL, 'delivered') }));
  const token = join(folder, 'token');
  writeFileSync(token, plane.token, { mode: 0o600 });
  env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    XDG_CONFIG_HOME: folder,
    SERVICECTL_SERVER: plane.url,
    SERVICECTL_TOKEN_FILE: token,
    URL: plane.url,
    SERVER: plane.url,
    TOKEN: plane.token,
  };
  const setUp = async (...args: string[]): Promise<void> => {
    const { code, err } = await runServicectl(args);
    if (code !== 0) throw new Error(`${args.join(' ')}: ${err}`);
  };
  await setUp('login', plane.url, '--token-file', token, '--name', 'staging');
  const [, template = ''] =
    /^```yaml\n(name: migrate-database\n[\s\S]*?)^```$/m.exec(read('docs/operation-templates.md')) ?? [];
  writeFileSync(join(folder, 'migrate.yaml'), template);
  await setUp('templates', 'put', '-f', join(folder, 'migrate.yaml'));
  await setUp('recovery-key', 'create', '--out', join(folder, 'recovery-key.json'));

  await plane.call('PUT', '/operation-templates/rollout-restart', { approval: { count: 1 } });
  const operation = await asked('prod-eu', { ...RESTART, name: 'migrate-7' });
  await plane.call('PATCH', '/clusters/tutorial', { git: { review: 'proposal', requiredApprovals: { count: 1 } } });
  await asked(
    'tutorial',
    { action: 'update', namespace: 'shop', name: 'podinfo', values: { replicaCount: 3 } },
    'proposed',
  );
  const { body } = await plane.call('GET', '/proposals');
  named = [
    [/^(?:INTENT|int-\w+…?)$/, operation],
    [/^(?:\$P|\$PROPOSAL|prop-\w+)$/, String(body['items'][0].id)],
    [/^\/tmp\/\w+\.token$/, token],
    [/^recovery-key\.json$/, join(folder, 'recovery-key.json')],
  ];
}, 60_000);

afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

it('runs commands of both kinds', () => {
  expect(SERVICECTL.length).toBeGreaterThan(40);
  expect(CALLS.length).toBeGreaterThan(2);
});

it('leaves out nothing that no document has any more', () => {
  const lines = PROGRAMS.filter((command) => !isRun(command)).map(lineOf);
  expect(NOT_RUN.filter(([, pattern]) => !lines.some((line) => pattern.test(line)))).toEqual([]);
});

describe('servicectl', () => {
  it.each(titled(SERVICECTL))(
    '%s is answered',
    async (_, { words }) => {
      const args = words.slice(1).map((word) => named.find(([pattern]) => pattern.test(word))?.[1] ?? word);
      const isCall = !['completion', 'contexts', 'operator'].includes(args[0] ?? '');
      const { code, out, err } = await runServicectl([...(isCall ? ['--request-timeout', '5s'] : []), ...args]);
      if (args[0] === 'apps' && args[1] === 'diff') {
        expect({ code, err }).toEqual({ code: 1, err: '' });
        expect(out).toMatch(/^\+ /m);
      } else if (args[0] === 'doctor') {
        // Here no operator runs, and programs may be missing: it says so, and exits accordingly.
        expect(err).toMatch(code === 0 ? /^$/ : /^servicectl: not as it must be: .+\n$/);
        expect(out).toContain('may organization');
      } else {
        expect({ code, err }).toEqual({ code: 0, err: expect.stringMatching(NOTHING_ELSE) });
      }
    },
    LIMIT_MS,
  );
});

describe('the API', () => {
  const [api = ''] = /^api\(\) .*$/m.exec(read('docs/operations.md')) ?? [];

  it.each(titled(CALLS))(
    '%s is answered',
    async (_, { words: [program = '', ...args] }) => {
      const quoted = args.map((word) => `"${word.replaceAll('/tmp/', `${folder}/`).replaceAll(/["\\`]/g, '\\$&')}"`);
      // A stream goes on for as long as somebody reads it.
      const bounded = 'curl() { command curl -w "%{stderr}%{http_code}" --max-time 2 "$@" || [ $? = 28 ]; }';
      const script = [bounded, api, [program, ...quoted].join(' ')].join('\n');
      const { stdout, stderr } = await run('bash', ['-c', script], { env, timeout: LIMIT_MS - 1000, cwd: folder });
      expect([stderr.match(/[45]\d\d$/m)?.[0], stdout]).toEqual([undefined, expect.not.stringContaining('"error":')]);
    },
    LIMIT_MS,
  );
});
