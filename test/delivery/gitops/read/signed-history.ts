import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AllowedSigner } from '../../../../src/protocol/agent-config.ts';
import { git, type GitRemote } from './git-remote.ts';

/** Somebody with an SSH key that plain git signs commits with. */
export class Signer {
  readonly allowed: AllowedSigner;
  readonly #file: string;

  constructor(remote: GitRemote, name: string, type: readonly string[] = ['-t', 'ed25519']) {
    this.#file = join(remote.folder, name);
    execFileSync('ssh-keygen', ['-q', ...type, '-N', '', '-C', name, '-f', this.#file]);
    this.allowed = { principal: `${name}@example.com`, public_key: readFileSync(`${this.#file}.pub`, 'utf8').trim() };
  }

  get settings(): readonly string[] {
    return ['gpg.format=ssh', `user.signingKey=${this.#file}`, 'commit.gpgSign=true'];
  }
}

/** From now on the commits of the remote's work tree are signed by `signer`, or by nobody. */
export function signWith(remote: GitRemote, signer: Signer | undefined): void {
  const work = workOf(remote);
  for (const setting of signer?.settings ?? ['commit.gpgSign=false']) {
    const [key = '', value = ''] = setting.split('=');
    git(work, 'config', key, value);
  }
}

export function workOf(remote: GitRemote): string {
  return join(remote.folder, 'work');
}
