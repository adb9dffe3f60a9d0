import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const LIMIT_MS = 60_000;
const LIMITED = { timeout: LIMIT_MS };

const folder = mkdtempSync(join(tmpdir(), 'servicectl-'));
let server: Server;
let env: NodeJS.ProcessEnv;
const bodies: unknown[] = [];

/** Stands in for a control plane: notes what it is sent, and refuses it. */
beforeAll(async () => {
  server = createServer((request, response) => {
    void text(request).then((body) => {
      bodies.push(JSON.parse(body));
      response.writeHead(404, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ type: 'about:blank', title: 'not_found', status: 404, detail: 'taken' }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  writeFileSync(join(folder, 'token'), 'a-token');
  const { port } = server.address() as AddressInfo;
  env = {
    ...process.env,
    SERVICECTL_SERVER: `http://127.0.0.1:${port}`,
    SERVICECTL_TOKEN_FILE: join(folder, 'token'),
  };
});
beforeEach(() => (bodies.length = 0));
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], { env, stdio: 'pipe', timeout: LIMIT_MS });
}

async function ended(child: ChildProcess): Promise<string> {
  const said = [child.stdout, child.stderr].map(async (stream) => (stream === null ? '' : await text(stream)));
  const [code] = (await once(child, 'close')) as [number | null];
  return `${code} ${(await Promise.all(said)).join('')}`;
}

const COMMANDS = [
  [['templates', 'put', '-f', '-'], 'name: own\ndescription: late\n', { description: 'late' }],
  [['catalog', 'put', '-f', '-'], 'name: own\nversions: late\n', { versions: 'late' }],
  [['catalog', 'login', 'o', '--username', 'u', '--password-file', '-'], 'late\n', { username: 'u', password: 'late' }],
  [['channel', 'webhooks', 'add', 'own', '--url-file', '-'], 'late\n', { name: 'own', url: 'late' }],
  [['repositories', 'set', 'own', '--file', '-'], '{"url":"late"}\n', { url: 'late' }],
  [['clusters', 'push-credential', 'c', '--kubeconfig', '-'], 'late\n', { kubeconfig: 'late\n' }],
  [
    ['clusters', 'mode', 'c', 'push', '--kubeconfig', '-'],
    'late\n',
    { dryRun: true, mode: 'push', push: { kubeconfig: 'late\n' } },
  ],
  [
    ['operations', 'run', 'c', 'run-job', '-n', 'n', '--name', 'j', '--params-file', '-'],
    'image: late\n',
    { action: 'operate', namespace: 'n', name: 'j', operationTemplate: 'run-job', parameters: { image: 'late' } },
  ],
] as const;

it('waits for a writer of standard input that is late, of every command that reads it', LIMITED, async () => {
  const all = COMMANDS.map(([args, input]) => {
    const child = start(args);
    return { child, input, end: ended(child) };
  });
  // Late by the beginning and the end of another one, so that each of these stands at its input and finds nothing there.
  await ended(start(['--version']));
  const halfOf = (input: string): number => Math.floor(input.length / 2);
  for (const { child, input } of all) child.stdin?.write(input.slice(0, halfOf(input)));
  await ended(start(['--version']));
  for (const { child, input } of all) child.stdin?.end(input.slice(halfOf(input)));
  expect(await Promise.all(all.map(async ({ end }) => await end))).toEqual(
    all.map(() => expect.stringContaining('answered 404')),
  );
  expect(bodies).toHaveLength(COMMANDS.length);
  expect(bodies).toEqual(expect.arrayContaining(COMMANDS.map(([, , body]) => body)));
});

it.runIf(process.platform === 'linux')('reads what is typed on a terminal', LIMITED, async () => {
  const command = `'${process.execPath}' '${MAIN}' templates put -f -`;
  const child = spawn('script', ['-qec', command, '/dev/null'], { env, stdio: 'pipe', timeout: LIMIT_MS });
  const end = ended(child);
  await ended(start(['--version']));
  // The last one ends the input, as Ctrl-D does.
  child.stdin.end('name: own\ndescription: typed\n\u0004');
  expect(await end).toContain('answered 404');
  expect(bodies).toEqual([{ description: 'typed' }]);
});
