import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Home } from './home.ts';

const execute = promisify(execFile);
const LIMITED = { timeout: 60_000 };
const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

let server: Server;
let home: Home;
let url: string;
let marker: string;

/** Names that a shell would carry out, or that are no names. */
function hostileNames(): readonly string[] {
  return [
    `$(touch\${IFS}${marker})`,
    `\`touch\${IFS}${marker}\``,
    `prod-$(touch\${IFS}${marker})`,
    `prod-eu;touch\${IFS}${marker}`,
    'prod-a b',
    "prod-x'y",
    'prod-*',
    '-rf',
    'prod-\u001b[2J',
    'prod-a\nprod-$HOME',
  ];
}

beforeAll(async () => {
  home = new Home();
  marker = join(home.folder, 'carried-out');
  server = createServer((request, response) => {
    request.resume().once('end', () => {
      const items = [...hostileNames(), 'prod-eu'].map((name) => ({ slug: name }));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ items }));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  home[Symbol.dispose]();
  server.close();
});

/** What a real bash offers behind `servicectl clusters show`, with `program` as the command that is completed. */
async function offered(program: string, beginning: string): Promise<readonly string[]> {
  const script = home.file('completion.bash', (await home.run(['completion', 'bash'])).out);
  const path = join(home.folder, 'servicectl-program');
  writeFileSync(path, program, { mode: 0o755 });
  const text = `source '${script}'
COMP_WORDS=('${path}' clusters show '${beginning}'); COMP_CWORD=3; _servicectl
[ "\${#COMPREPLY[@]}" = 0 ] || printf '%s\\n' "\${COMPREPLY[@]}"
`;
  const env = {
    ...home.env,
    PATH: process.env['PATH'],
    SERVICECTL_SERVER: url,
    SERVICECTL_TOKEN_FILE: home.file('token', 'any'),
  };
  const { stdout } = await execute('bash', ['--norc', '-c', text], { env, cwd: home.folder, timeout: 30_000 });
  return stdout.split('\n').filter((line) => line !== '');
}

describe('completion with a control plane that names things as it likes', () => {
  it('carries nothing out in a real bash, and offers what can be a name', LIMITED, async () => {
    const own = `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`;
    expect(await offered(own, 'p')).toEqual(['prod-eu']);
    expect(await offered(own, '')).toEqual(['prod-eu']);
    expect(existsSync(marker)).toBe(false);
  });

  it('carries nothing out where the program that is asked prints whatever it was told', LIMITED, async () => {
    const lines = [...hostileNames(), 'prod-eu'].map((name) => `'${name.replaceAll("'", String.raw`'\''`)}'`);
    expect(await offered(`#!/bin/sh\nprintf '%s\\n' ${lines.join(' ')}\n`, 'prod-')).toContain('prod-eu');
    expect(existsSync(marker)).toBe(false);
  });

  it('is told names alone, for each shell', async () => {
    const args = ['__complete', 'clusters', '', '--server', url, '--token-file', home.file('token', 'any')];
    expect(await home.run(args)).toEqual({ code: 0, out: 'prod-eu\n', err: '' });
  });
});
