import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const WORDS = 'apps|intents|jobs|events|audit|operations (?:list|show)|proposals diff|fleet|search|filters';
const LINE = new RegExp(`^ *servicectl ((?:${WORDS}) [^\\n#|]*)`, 'gm');
const COMMANDS = ['README.md', ...globSync('docs/*.md', { cwd: ROOT })].flatMap((document) =>
  [...readFileSync(join(ROOT, document), 'utf8').matchAll(LINE)].map(([, command = '']): [string, string] => [
    command.trim(),
    document,
  ]),
);

/** Takes whatever it is asked, and has something of every answer. */
const ANSWER = {
  id: 'int-1',
  intentId: 'int-1',
  // Of a list that `operations show` looks a name up in.
  items: [{ id: 'int-1' }],
  files: [],
  conditions: [],
  intents: { waiting: 0, byState: {} },
  clusters: { total: 0, byHealth: {}, byMode: {}, byStatus: {} },
  approvals: {},
  proposals: {},
  violations: [],
  diff: '',
};

const folder = mkdtempSync(join(tmpdir(), 'work-commands-'));
let server: Server;

beforeAll(async () => {
  writeFileSync(join(folder, 'token'), 'svcadm_test', { mode: 0o600 });
  server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    const { pathname } = new URL(request.url ?? '', 'http://here');
    const isOperation = /\/operations\/./.test(pathname);
    const isTimeline = pathname.endsWith('/timeline');
    response.end(
      JSON.stringify({ ...ANSWER, ...(isOperation ? { intents: [] } : {}), ...(isTimeline ? { items: [] } : {}) }),
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

it('there are commands of every kind', () => {
  const kinds = new Set(COMMANDS.map(([command]) => command.split(' ')[0]));
  expect(kinds).toEqual(
    new Set(['apps', 'audit', 'events', 'filters', 'fleet', 'intents', 'jobs', 'operations', 'proposals', 'search']),
  );
  expect(COMMANDS.length).toBeGreaterThan(20);
});

it.for(COMMANDS)('%s in %s is a command line that can be used', async ([command]) => {
  const [line = ''] = command.split(' < ');
  const words = [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((found) => found.slice(1).join(''));
  // What is waited for, followed or read from a file is no matter of the command line.
  const args = words
    .filter((word) => !['--wait', '--watch', '--follow'].includes(word))
    .filter((word, index, all) => word !== '--until' && all[index - 1] !== '--until')
    .filter(
      (word, index, all) =>
        !/^(-f|--secret-values)$/.test(word) && !/^(-f|--secret-values)$/.test(all[index - 1] ?? ''),
    );
  const { port } = server.address() as AddressInfo;
  const env = { SERVICECTL_SERVER: `http://127.0.0.1:${port}`, SERVICECTL_TOKEN_FILE: join(folder, 'token') };
  let err = '';
  // What a document asks for is printed as the program reads it, whatever the answer lacks of what people are shown.
  const asked = args.includes('-o') ? args : [...args, ...(TABLES.test(line) ? ['-o', 'json'] : [])];
  const code = await servicectl(asked, { env, out: () => undefined, err: (text) => (err += text) });
  // Only that nothing is to change was left of it.
  if (err.includes('say what is to change')) expect(words).toContain('--secret-values');
  else expect([code, err]).toEqual([0, '']);
});

/** Commands that print what they were answered. */
const TABLES = /^(?!apps (install|upgrade|uninstall)|filters save|filters delete)/;
