import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { REGISTRATION_SECRET_COMMAND } from '../../src/install/install-commands.ts';

const LINK = { slug: 'prod-eu', crdsUrl: 'https://c', operatorUrl: 'https://o', expiresAt: '2026-12-01T00:15:00.000Z' };

/** What `servicectl clusters install-command prod-eu` prints. */
async function printed(folder: string): Promise<string> {
  const server = createServer((_, response) => response.writeHead(201).end(JSON.stringify(LINK)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const token = join(folder, 'token');
  await writeFile(token, 'svcadm_x');
  const env = {
    SERVICECTL_SERVER: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    SERVICECTL_TOKEN_FILE: token,
  };
  let out = '';
  const err = (text: string): never => {
    throw new Error(text);
  };
  await servicectl(['clusters', 'install-command', 'prod-eu'], { env, out: (text) => (out += text), err });
  await new Promise((resolve) => server.close(resolve));
  return out;
}

interface Ran {
  readonly code: number | null;
  readonly err: string;
  /** One line for each call of `kubectl`, with what came by standard input behind it. */
  readonly calls: readonly string[];
}

/** Runs it by a shell that finds a `kubectl` which writes down how it is called and, where it is given, a `servicectl`. */
async function runScript(folder: string, script: string, program?: string, flags = ['-e']): Promise<Ran> {
  const log = join(folder, 'log');
  const put = async (name: string, body: string): Promise<void> => {
    await writeFile(join(folder, name), `#!/bin/sh\n${body}\n`);
    await chmod(join(folder, name), 0o755);
  };
  const reads = 'case "$*" in *stdin*|*filename=-*) text=$(/bin/cat);; *) text=;; esac';
  await put(
    'kubectl',
    `${reads}\necho "$* <$text>" >>'${log}'\ncase "$*" in *create*) echo "manifest of $text";; esac`,
  );
  if (program !== undefined) await put('servicectl', program);
  return await new Promise((resolve) => {
    const child = execFile('/bin/sh', flags, { env: { PATH: folder } }, (_, __, err) => {
      const read = existsSync(log) ? readFile(log, 'utf8') : Promise.resolve('');
      void read.then((text) => {
        resolve({ code: child.exitCode, err, calls: text.split('\n').filter((line) => line !== '') });
      });
    });
    child.stdin?.end(script);
  });
}

const folderFor = async (): ReturnType<typeof mkdtempDisposable> =>
  await mkdtempDisposable(join(tmpdir(), 'install-script-'));
const written = ({ calls }: Ran): readonly string[] => calls.filter((call) => call.includes('filename=-'));

describe('the printed script of an installation', () => {
  it('runs its four steps, with the token in a pipe only', async () => {
    await using folder = await folderFor();
    const ran = await runScript(folder.path, await printed(folder.path), 'echo svcreg_x');
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(written(ran)).toEqual(['apply --server-side --force-conflicts --filename=- <manifest of svcreg_x>']);
    expect(ran.calls.map((call) => call.split(' <')[0]).join('\n')).not.toContain('svcreg_x');
    expect(ran.calls).toHaveLength(5);
  });

  it.each([[['-e']], [[]]])('touches nothing where servicectl is no program (sh %s)', async (flags) => {
    await using folder = await folderFor();
    const ran = await runScript(folder.path, await printed(folder.path), undefined, flags);
    expect(ran).toEqual({ code: 1, err: 'servicectl is not a program that this shell finds in PATH\n', calls: [] });
  });

  it.each([
    ['is refused', 'echo refused >&2; exit 1'],
    ['prints nothing', ':'],
    ['prints an empty line', 'echo'],
  ])('stops before the operator and makes no Secret where servicectl %s', async (_, program) => {
    await using folder = await folderFor();
    const ran = await runScript(folder.path, await printed(folder.path), program);
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('there is no registration token on standard input\n');
    expect(ran.calls).toEqual(['apply -f https://c <>']);
  });
});

describe('the command that makes the registration Secret', () => {
  it.each([
    ['a token without a line end', 'printf svcreg_y | '],
    ['a token that is entered', "printf 'svcreg_y\\n\\n' | "],
  ])('takes %s', async (_, before) => {
    await using folder = await folderFor();
    const ran = await runScript(folder.path, `${before}${REGISTRATION_SECRET_COMMAND}\n`);
    expect([ran.code, written(ran).length]).toEqual([0, 1]);
    expect(written(ran)[0]).toContain('<manifest of svcreg_y>');
  });
});
