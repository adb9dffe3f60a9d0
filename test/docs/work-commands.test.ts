import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { commandsOf, shellBlocks } from './fenced-commands.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Commands that ask for work, whose arguments the command itself reads; executed-commands.test.ts runs those that look. */
const COMMANDS = ['README.md', ...globSync('{docs,examples}/**/*.md', { cwd: ROOT })]
  .sort()
  .flatMap((document) => shellBlocks(document, readFileSync(join(ROOT, document), 'utf8')).flatMap(commandsOf))
  .filter(({ words }) => /^servicectl (?:apps (?:install|upgrade|uninstall)|operations run) /.test(words.join(' ')))
  .map(({ document, line, words }): [string, readonly string[]] => [
    `${document}:${line} ${words.join(' ')}`,
    words.slice(1),
  ]);

const folder = mkdtempSync(join(tmpdir(), 'work-commands-'));
let server: Server;

/** Takes whatever it is asked. */
beforeAll(async () => {
  writeFileSync(join(folder, 'token'), 'svcadm_test', { mode: 0o600 });
  server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id: 'int-1', items: [], violations: [], parameters: { properties: {} } }));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

it('there are commands of each kind', () => {
  const kinds = new Set(COMMANDS.map(([, words]) => words.slice(0, 2).join(' ')));
  expect(kinds).toEqual(new Set(['apps install', 'apps upgrade', 'apps uninstall', 'operations run']));
  expect(COMMANDS.length).toBeGreaterThan(20);
});

it.each(COMMANDS)(
  '%s is a command line that can be used',
  async (_, words) => {
    // What is waited for or read from a file is no matter of the command line.
    const fromFile = /^(?:-f|--secret-values|--params-file)$/;
    const args = words.filter(
      (word, at) => word !== '--wait' && !fromFile.test(word) && !fromFile.test(words[at - 1] ?? ''),
    );
    const { port } = server.address() as AddressInfo;
    const env = { SERVICECTL_SERVER: `http://127.0.0.1:${port}`, SERVICECTL_TOKEN_FILE: join(folder, 'token') };
    let err = '';
    const deps = { env, out: () => undefined, err: (text: string) => void (err += text) };
    const code = await servicectl(['--request-timeout', '5s', ...args], deps);
    // Only that nothing is to change was left of it.
    if (err.includes('say what is to change')) expect(words).toContain('--secret-values');
    else expect([code, err]).toEqual([0, '']);
  },
  10_000,
);
