import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Processes that serve `root`, by their environment. */
async function backendsOf(root: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (environment.includes(`GIT_PROJECT_ROOT=${root}\0`)) found.push(Number(pid));
  }
  return found;
}

async function comesAbout(condition: () => Promise<boolean>): Promise<boolean> {
  for (let attempt = 0; attempt < 250; attempt += 1) {
    if (await condition()) return true;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  return false;
}

describe.runIf(process.platform === 'linux')('a Git host that is killed', () => {
  it('leaves no process behind that waits for the rest of a body, since none is started before it is in', async () => {
    const root = await mkdtemp(join(tmpdir(), 'git-crash-'));
    const host = spawn(process.execPath, [join(import.meta.dirname, 'host-process.ts'), root], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(host, 'close');
    try {
      const [line] = (await once(host.stdout, 'data')) as [Buffer];
      const repository = `http://127.0.0.1:${line.toString().trim()}/git/acme.git`;
      const authorization = `Basic ${btoa('any:x')}`;
      const sent = request(`${repository}/git-upload-pack`, {
        method: 'POST',
        headers: {
          authorization,
          'content-type': 'application/x-git-upload-pack-request',
          'content-length': '1000',
          // The host says so once it has the request.
          expect: '100-continue',
        },
      });
      sent.on('error', () => undefined);
      sent.flushHeaders();
      await once(sent, 'continue');
      sent.write('0011');
      // Another request is served from beginning to end meanwhile.
      const asked = await fetch(`${repository}/info/refs?service=git-upload-pack`, { headers: { authorization } });
      await asked.arrayBuffer();
      expect(await comesAbout(async () => (await backendsOf(root)).length === 0)).toBe(true);
      host.kill('SIGKILL');
      await closed;
      sent.destroy();
      expect(await backendsOf(root)).toEqual([]);
    } finally {
      host.kill('SIGKILL');
      await closed;
      for (const pid of await backendsOf(root)) process.kill(pid, 'SIGKILL');
      await rm(root, { recursive: true, force: true });
    }
  });
});
