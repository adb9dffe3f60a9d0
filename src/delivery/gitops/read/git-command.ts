import { simpleGit, type SimpleGit } from 'simple-git';
import { GitFault, gitFaultOf } from './git-fault.ts';

export interface GitCommandDeps {
  readonly directory: string;
  /** Read at each command, since a credential changes. */
  readonly environment: () => Readonly<Record<string, string>>;
}

export interface GitCommandOptions {
  readonly signal: AbortSignal;
  /** Lines for standard input. */
  readonly input?: readonly string[];
  /** Takes what git writes to standard error. */
  readonly stderr?: string[];
  /** Settings of this command alone, over those of the environment. */
  readonly settings?: readonly string[];
}

const COMMAND_TIMEOUT_MS = 120_000;

/** Runs git by simple-git: one process a call, with a time limit. Throws GitFault, or the signal's reason when aborted. */
export class GitCommand {
  readonly #deps: GitCommandDeps;

  constructor(deps: GitCommandDeps) {
    this.#deps = deps;
  }

  async text(args: readonly string[], options: GitCommandOptions): Promise<string> {
    return attempt(options.signal, async () => {
      const { stderr, settings = [] } = options;
      const git = this.#git(options);
      if (stderr !== undefined) {
        git.outputHandler((_command, _stdout, errors) =>
          errors.on('data', (part: Buffer) => stderr.push(String(part))),
        );
      }
      return await git.raw([...settings.flatMap((setting) => ['-c', setting]), ...args]);
    });
  }

  /** Output of `git cat-file <args>`, byte for byte. */
  async bytes(args: readonly string[], options: GitCommandOptions): Promise<Buffer> {
    return attempt(options.signal, async () => {
      const output: unknown = await this.#git(options).binaryCatFile([...args]);
      if (!Buffer.isBuffer(output)) throw new GitFault('broken', 'git cat-file gave no bytes');
      return output;
    });
  }

  /** One instance a command: each has its own input, time limit and, as it may have changed, credential. */
  #git({ signal, input }: GitCommandOptions): SimpleGit {
    const environment = this.#deps.environment();
    const lines = input?.map((line) => `${line}\n`).join('');
    return simpleGit({
      baseDir: this.#deps.directory,
      abort: AbortSignal.any([signal, AbortSignal.timeout(COMMAND_TIMEOUT_MS)]),
      allowEnvironment: Object.keys(environment),
      // The library refuses these unless told that they do not come from outside. Here they are constants.
      unsafe: {
        allowUnsafeConfigEnvCount: true,
        allowUnsafeConfigPaths: true,
        allowUnsafeHooksPath: true,
        allowUnsafeProtocolOverride: true,
        allowUnsafeCredentialHelper: true,
        allowUnsafeAskPass: true,
        allowUnsafeFsMonitor: true,
        allowUnsafeSshCommand: true,
      },
      ...(lines === undefined ? {} : { input: () => lines }),
    }).env({ ...environment });
  }
}

async function attempt<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    signal.throwIfAborted();
    throw gitFaultOf(error);
  }
}
