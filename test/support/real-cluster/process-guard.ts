import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';

/**
 * Reads `+PID` and `-PID` lines; when the pipe closes, because the test process is gone however it went, it kills what
 * is left and removes the state folder.
 */
const WATCHDOG = `
pids=' '
while read -r line; do
  case $line in
    +*) pids="$pids\${line#+} " ;;
    -*) pid=\${line#-}; pids="\${pids%% $pid *} \${pids#* $pid }" ;;
  esac
done
for pid in $pids; do kill -KILL "$pid"; done 2>/dev/null
rm -rf "$0" || { sleep 1; rm -rf "$0"; }
`;

/** An API server that is asked to end answers nothing new but waits up to a minute for the watches of others. */
const GRACE_MS = 1500;

/** A program that runs until it is told to end. */
export interface GuardedProcess {
  readonly pid: number;
  /** Rejects when the program ends by itself, with the end of its log; never resolves. */
  readonly ended: Promise<never>;
  signal(signal: NodeJS.Signals): void;
  /** Ends it: SIGTERM and, a little later, SIGKILL; or SIGKILL at once. */
  stop(how?: 'terminate' | 'kill'): Promise<void>;
}

/** Starts programs that outlive neither this process nor the guard; the folder goes with them. */
export class ProcessGuard implements AsyncDisposable {
  readonly #watchdog: ChildProcess;
  readonly #running = new Set<GuardedProcess>();

  /** @param folder removed at the end */
  constructor(folder: string) {
    // In a session of its own: a Ctrl-C meant for the tests must not end the one that cleans up after them.
    this.#watchdog = spawn('/bin/sh', ['-c', WATCHDOG, folder], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#watchdog.stdin?.on('error', () => undefined);
    // A worker whose vitest was killed lives on without anybody to end it.
    process.once('disconnect', this.#onDisconnect);
  }

  readonly #onDisconnect = (): void => {
    this.#watchdog.stdin?.end();
  };

  start(program: string, args: readonly string[], logPath: string): GuardedProcess {
    const log = createWriteStream(logPath, { flags: 'a' });
    const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: {} });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    const { pid } = child;
    if (pid !== undefined) this.#tell(`+${pid}`);
    let stopping = false;
    const exit = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? `code ${String(code)}`}`));
    });
    const ended = exit.then(async (how): Promise<never> => {
      if (stopping) return new Promise(() => undefined);
      const tail = (await readFile(logPath, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-15).join('\n');
      throw new Error(`${program}: ${how}\n${tail}`);
    });
    ended.catch(() => undefined);
    const running: GuardedProcess = {
      pid: pid ?? -1,
      ended,
      signal: (signal) => child.kill(signal),
      stop: async (how = 'terminate') => {
        stopping = true;
        child.kill(how === 'kill' ? 'SIGKILL' : 'SIGTERM');
        const hard = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
        await exit;
        clearTimeout(hard);
        log.end();
        if (pid !== undefined) this.#tell(`-${pid}`);
        this.#running.delete(running);
      },
    };
    this.#running.add(running);
    return running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off('disconnect', this.#onDisconnect);
    await Promise.all([...this.#running].map(async (running) => running.stop('kill')));
    const gone = new Promise((resolve) => {
      this.#watchdog.once('exit', resolve);
    });
    this.#watchdog.stdin?.end();
    await gone;
  }

  #tell(line: string): void {
    this.#watchdog.stdin?.write(`${line}\n`);
  }
}
