import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const COMMANDS = ['README.md', ...globSync('docs/*.md', { cwd: ROOT })].flatMap((document) =>
  [...readFileSync(join(ROOT, document), 'utf8').matchAll(/^ *(?:npx )?servicectl (operations run [^\n#|]*)/gm)].map(
    ([, command = '']): [string, string] => [command.trim(), document],
  ),
);

const folder = mkdtempSync(join(tmpdir(), 'commands-'));
let server: Server;

/** Takes whatever it is asked. */
beforeAll(async () => {
  writeFileSync(join(folder, 'token'), 'svcadm_test', { mode: 0o600 });
  server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id: 'int-1', violations: [], parameters: { properties: {} } }));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

it('there are commands that run operations', () => {
  expect(COMMANDS.length).toBeGreaterThan(5);
});

it.for(COMMANDS)('%s in %s is a command line that can be used', async ([command]) => {
  const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
  // What it waits for and what it reads from a file is no matter of the command line.
  const args = words.filter((word, index) => word !== '--wait' && !/params-file/.test(`${word} ${words[index - 1]}`));
  const { port } = server.address() as AddressInfo;
  const env = { SERVICECTL_SERVER: `http://127.0.0.1:${port}`, SERVICECTL_TOKEN_FILE: join(folder, 'token') };
  let err = '';
  const code = await servicectl(args, { env, out: () => undefined, err: (text) => (err += text) });
  expect([code, err]).toEqual([0, '']);
});
