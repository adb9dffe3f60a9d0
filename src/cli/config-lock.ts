import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { systemClock } from '../runtime/clock.ts';
import { readConfig, requireConfigFile, writeConfig, type Config } from './cli-config.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';

/** Longer than a call of an issuer may take. */
const WAIT_MS = 40_000;
const EVERY_MS = 50;
/** Nothing holds it for so long; its holder may also have been on another machine that shares the home. */
const STALE_MS = 120_000;

type LockDeps = Pick<CliDeps, 'env' | 'clock'>;

/**
 * One command at a time: a refresh token may be used once, and of two commands that begin together the second takes what
 * the first was given.
 */
export async function withConfigLock<T>(deps: LockDeps, work: () => Promise<T> | T): Promise<T> {
  const lock = `${requireConfigFile(deps)}.lock`;
  const own = `${process.pid} ${randomBytes(8).toString('hex')}`;
  await take(lock, own, deps);
  try {
    return await work();
  } finally {
    if (contentOf(lock) === own) rmSync(lock, { force: true });
  }
}

/** Changes the configuration as it is now, whatever another command has made of it meanwhile. */
export async function changeConfig(deps: LockDeps, change: (config: Config) => Config): Promise<Config> {
  return await withConfigLock(deps, () => {
    const config = change(readConfig(deps));
    writeConfig(deps, config);
    return config;
  });
}

async function take(lock: string, own: string, { clock = systemClock }: LockDeps): Promise<void> {
  const endAt = clock.now().getTime() + WAIT_MS;
  for (;;) {
    try {
      writeFileSync(lock, own, { flag: 'wx', mode: 0o600 });
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    takeAwayStale(lock, clock.now().getTime());
    if (clock.now().getTime() >= endAt) {
      throw new CliError(EXIT.failed, `another command holds ${lock}`, `If none runs, delete that file`);
    }
    await clock.sleep(EVERY_MS);
  }
}

/** What a command left that was killed. A lock that was taken anew meanwhile is put back. */
function takeAwayStale(lock: string, now: number): void {
  const seen = contentOf(lock);
  if (seen === undefined || !isStale(lock, seen, now)) return;
  const aside = `${lock}.${randomBytes(6).toString('hex')}`;
  try {
    renameSync(lock, aside);
    if (contentOf(aside) !== seen) linkSync(aside, lock);
  } catch {
    // Somebody else was faster.
  } finally {
    rmSync(aside, { force: true });
  }
}

function isStale(lock: string, content: string, now: number): boolean {
  const pid = Number(content.split(' ')[0]);
  try {
    if (now - statSync(lock).mtimeMs > STALE_MS) return true;
    // Written in two steps: an empty one is being taken.
    if (content === '') return false;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
