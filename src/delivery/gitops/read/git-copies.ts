import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_MANIFEST_BYTES } from '../../../intent/rendered.ts';
import { isSshAddress, sshAddressOf, writeSshFiles, type SshFiles } from '../../../git/remote/ssh-process.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { Secret } from '../../../runtime/secret.ts';
import { Descent } from './descent.ts';
import { DirectoryReader } from './directory-reader.ts';
import { GitCache } from './git-cache.ts';
import { GitCommand } from './git-command.ts';
import { gitEnvironment } from './git-environment.ts';
import { GitFault } from './git-fault.ts';
import { targetIsUnusable, type GitTarget } from './git-target.ts';
import { TrustedStanding } from './trusted-standing.ts';
import { CommitVerifier } from './verify-commits.ts';

export interface GitCopiesDeps {
  /** Holds the copy, and beside it what was trusted of each target. */
  readonly stateDir: string;
  readonly logger: Logger;
  /** The credential changes under a copy that stays. */
  readonly credential: () => GitTarget['credential'];
  /** `file:` remotes, for tests. */
  readonly allowFile?: boolean;
}

export interface GitCopy {
  readonly key: string;
  readonly cache: GitCache;
  readonly reader: DirectoryReader;
  readonly verifier: CommitVerifier;
  readonly descent: Descent;
}

/** The one copy of what is read now. Another address, branch or directory has another, and the one before is removed. */
export class GitCopies implements AsyncDisposable {
  readonly #deps: GitCopiesDeps;
  #copy: GitCopy | undefined;
  #ca: { readonly file: string; readonly pem: string } | undefined;
  #ssh: { readonly files: SshFiles; readonly of: string } | undefined;

  constructor(deps: GitCopiesDeps) {
    this.#deps = deps;
  }

  /** @throws GitFault */
  async open(target: GitTarget): Promise<GitCopy> {
    const unusable = targetIsUnusable(target, this.#deps.allowFile === true);
    if (unusable !== undefined) throw new GitFault('misconfigured', unusable);
    await this.#writeCa(target.caCertificate ?? '');
    await this.#writeSsh(target);
    const key = createHash('sha256')
      .update(`${target.url}\n${target.branch}\n${target.path}`)
      .digest('hex')
      .slice(0, 16);
    if (this.#copy?.key === key) return this.#copy;
    await this.#discardOthers(key);
    const { url, branch, path } = target;
    const { stateDir, logger, allowFile } = this.#deps;
    const directory = join(stateDir, 'git', key);
    const environment = (): Readonly<Record<string, string>> => {
      const credential = this.#deps.credential();
      return gitEnvironment({
        url,
        home: stateDir,
        ...(credential === undefined ? {} : { credential }),
        ...(this.#ca === undefined ? {} : { caFile: this.#ca.file }),
        ...(this.#ssh === undefined ? {} : { sshConfig: this.#ssh.files.config }),
        ...(allowFile === undefined ? {} : { allowFile }),
      });
    };
    const cache = new GitCache({ directory, url, branch, path, environment, logger });
    const reader = new DirectoryReader({ cache, path, maxBytes: MAX_MANIFEST_BYTES });
    const git = new GitCommand({ directory, environment });
    const descent = new Descent({ git, branch, logger });
    const verifier = new CommitVerifier({
      git,
      path,
      standing: new TrustedStanding(join(stateDir, 'git-trusted', key)),
      descent: new Descent({ git, branch, logger }),
    });
    this.#copy = { key, cache, reader, descent, verifier };
    return this.#copy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const before = this.#ssh;
    this.#ssh = undefined;
    await before?.files[Symbol.asyncDispose]();
  }

  /** Copies of what was read before, by this process or an earlier one. */
  async #discardOthers(key: string): Promise<void> {
    const folder = join(this.#deps.stateDir, 'git');
    const copies = await readdir(folder).catch(() => []);
    for (const copy of copies) if (copy !== key) await rm(join(folder, copy), { recursive: true, force: true });
  }

  async #writeCa(pem: string): Promise<void> {
    if (pem.trim() === '') {
      this.#ca = undefined;
      return;
    }
    const file = join(this.#deps.stateDir, 'git-ca.crt');
    if (this.#ca?.pem === pem) return;
    await mkdir(this.#deps.stateDir, { recursive: true });
    await writeFile(file, pem);
    this.#ca = { file, pem };
  }

  /** Nothing of git runs while this does: a key that was replaced goes with its files. */
  async #writeSsh({ url, credential }: GitTarget): Promise<void> {
    const { ssh_private_key: key, ssh_known_hosts: knownHosts } = credential ?? {};
    const of = key === undefined || knownHosts === undefined ? undefined : `${url}\n${key}\n${knownHosts}`;
    if (this.#ssh?.of === of) return;
    const before = this.#ssh;
    this.#ssh = undefined;
    await before?.files[Symbol.asyncDispose]();
    if (of === undefined || key === undefined || knownHosts === undefined || !isSshAddress(url)) return;
    const files = await writeSshFiles(sshAddressOf(url), { privateKey: new Secret(key), knownHosts }, {});
    this.#ssh = { files, of };
  }
}
