import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const NPM_TIMEOUT_MS = 120_000;

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}
/** What `npm pack --json` says of one package. */
interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** The package as `npm pack` makes it, in a folder of its own with what it depends on and nothing else. */
export interface InstalledPackage extends AsyncDisposable {
  readonly folder: string;
  /** Paths in the package. */
  readonly files: readonly string[];
  /** Runs a program as the shell finds it in `node_modules/.bin`. */
  run(
    program: string,
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>;
}

/** Packs and installs it without a network: its dependencies are copied from this project's, its programs linked by npm. */
export async function installPackage(): Promise<InstalledPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'service-installed-'));
  const { stdout } = await npm(ROOT, 'pack', '--json', '--pack-destination', folder);
  const packed = readPacked(stdout);
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, dependencies: { 'service-control-plane': '*' } }),
  );
  const own = join(folder, 'node_modules', 'service-control-plane');
  await mkdir(own, { recursive: true });
  await run('tar', ['-xzf', join(folder, packed.filename), '-C', own, '--strip-components=1']);
  await copyDependencies(folder);
  await npm(folder, 'rebuild', '--ignore-scripts', '--offline');
  const bin = join(folder, 'node_modules', '.bin');
  return {
    folder,
    files: packed.files.map((file) => file.path),
    run: async (program, args, env = {}) =>
      new Promise((resolve) => {
        const path = [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter);
        const options = { env: { PATH: path, ...env }, cwd: folder, timeout: 30_000 };
        const child = execFile(program, [...args], options, (_, out, err) => {
          resolve({ code: child.exitCode ?? -1, stdout: out, stderr: err });
        });
      }),
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true, force: true }),
  };
}

/** npm 11 answers a list, npm 12 an object by package name. */
function readPacked(stdout: string): Packed {
  const answer = JSON.parse(stdout) as readonly Packed[] | Readonly<Record<string, Packed>>;
  const [packed] = Object.values(answer);
  if (packed === undefined) throw new Error(`npm pack answered ${stdout.slice(0, 200)}`);
  return packed;
}

/** What the lock file does not call `dev`; `node` is left out, which is the Node that runs the tests. */
async function copyDependencies(folder: string): Promise<void> {
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const top = /^node_modules\/(?:@[^/]+\/)?[^/]+$/;
  const wanted = Object.entries(lock.packages).filter(
    ([path, { dev }]) => dev !== true && top.test(path) && path !== 'node_modules/node',
  );
  const runs = (path: string): boolean => !/\.(?:d\.[cm]?ts|map|md)$/.test(path);
  for (const [path] of wanted) await cp(join(ROOT, path), join(folder, path), { recursive: true, filter: runs });
}

async function npm(cwd: string, ...args: string[]): Promise<{ stdout: string }> {
  try {
    return await run('npm', args, { cwd, timeout: NPM_TIMEOUT_MS, maxBuffer: 16 * 1024 * 1024 });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`npm ${args.join(' ')}:\n${stdout}${stderr}`, { cause: error });
  }
}
