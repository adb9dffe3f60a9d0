import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { Secret } from '../../../src/runtime/secret.ts';
import type { SshCredential } from '../../../src/git/git-credential.ts';

const run = promisify(execFile);

/** A real OpenSSH server on loopback whose accounts reach Git repositories and nothing else. */
export class SshServer implements AsyncDisposable {
  readonly folder: string;
  readonly port: number;
  readonly #process: ChildProcess;
  readonly #hostKey: string;

  private constructor(folder: string, port: number, child: ChildProcess, hostKey: string) {
    this.folder = folder;
    this.port = port;
    this.#process = child;
    this.#hostKey = hostKey;
  }

  static async start(): Promise<SshServer> {
    const folder = await mkdtemp(join(tmpdir(), 'ssh-server-'));
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'host_key')]);
    await writeFile(join(folder, 'authorized_keys'), '', { mode: 0o600 });
    // Privilege separation asks for this directory where it runs as root.
    if (userInfo().uid === 0) await mkdir('/run/sshd', { recursive: true });
    const port = await freePort();
    const config = [
      `ListenAddress 127.0.0.1:${port}`,
      `HostKey ${join(folder, 'host_key')}`,
      `AuthorizedKeysFile ${join(folder, 'authorized_keys')}`,
      `PidFile ${join(folder, 'pid')}`,
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'PermitRootLogin prohibit-password',
      'LogLevel ERROR',
    ];
    await writeFile(join(folder, 'sshd_config'), `${config.join('\n')}\n`);
    const child = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', join(folder, 'sshd_config')], { stdio: 'ignore' });
    const hostKey = (await readFile(join(folder, 'host_key.pub'), 'utf8')).trim();
    const server = new SshServer(folder, port, child, hostKey);
    await vi.waitFor(async () => await run('ssh-keyscan', ['-p', String(port), '127.0.0.1']), { timeout: 10_000 });
    return server;
  }

  /** An empty bare repository; answers its address. */
  async newRepository(name: string): Promise<{ readonly url: string; readonly path: string }> {
    const path = join(this.folder, name);
    await run('git', ['init', '--quiet', '--bare', '--initial-branch=main', path]);
    return { path, url: `ssh://${userInfo().username}@127.0.0.1:${this.port}${path}` };
  }

  /** A deploy key that may run git's two commands, or only the one that reads. */
  async newKey(name: string, access: 'write' | 'read' = 'write'): Promise<SshCredential> {
    const file = join(this.folder, `key_${name}`);
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', file]);
    const shell = join(this.folder, `shell_${name}`);
    const refused = `echo 'ERROR: The key you are authenticating with has been marked as read only.' >&2; exit 1`;
    const script = [
      '#!/bin/sh',
      'case "$SSH_ORIGINAL_COMMAND" in',
      `  "git-receive-pack '"*) ${access === 'write' ? 'exec git-shell -c "$SSH_ORIGINAL_COMMAND"' : refused} ;;`,
      `  *) exec git-shell -c "$SSH_ORIGINAL_COMMAND" ;;`,
      'esac',
    ];
    await writeFile(shell, `${script.join('\n')}\n`);
    await chmod(shell, 0o755);
    const key = (await readFile(`${file}.pub`, 'utf8')).trim();
    await writeFile(join(this.folder, 'authorized_keys'), `restrict,command="${shell}" ${key}\n`, { flag: 'a' });
    return { privateKey: new Secret(await readFile(file, 'utf8')), knownHosts: this.knownHosts() };
  }

  /** Takes a key back. */
  withdraw(name: string): void {
    const file = join(this.folder, 'authorized_keys');
    const lines = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, lines.filter((line) => !line.endsWith(` ${name}`)).join('\n'));
  }

  /** What `ssh-keyscan` gives of it; of another host's key where one is named. */
  knownHosts(key = this.#hostKey): string {
    return `[127.0.0.1]:${this.port} ${key.split(' ').slice(0, 2).join(' ')}\n`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGTERM');
    await ended;
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
