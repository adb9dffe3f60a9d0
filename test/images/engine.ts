import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const DOCKER = '/usr/bin/docker';

/** Debian's client, with the engine that DOCKER_HOST names. @throws what the client wrote */
export async function docker(...args: string[]): Promise<string> {
  if ((process.env['DOCKER_HOST'] ?? '') === '') throw new Error('DOCKER_HOST must name the engine with the images');
  const { stdout } = await run(DOCKER, args, { timeout: 60_000, maxBuffer: 16 * 1024 * 1024 });
  return stdout.trim();
}

/** What an image is started with: as little as a strict cluster gives it. */
export interface Started {
  readonly image: string;
  readonly env: Readonly<Record<string, string>>;
  /** Paths that may be written, each a tmpfs of the image's user. */
  readonly writable: readonly string[];
  /** Host path by path in the container, read-only. */
  readonly mounts?: Readonly<Record<string, string>>;
}

const STRICT = [
  '--read-only',
  '--cap-drop=ALL',
  '--security-opt=no-new-privileges',
  '--network=host',
  '--pids-limit=100',
];

/** A container that is removed with its data when it is disposed of. */
export class Container implements AsyncDisposable {
  readonly id: string;

  private constructor(id: string) {
    this.id = id;
  }

  static async start({ image, env, writable, mounts = {} }: Started): Promise<Container> {
    const flags = [
      ...Object.entries(env).map(([name, value]) => `--env=${name}=${value}`),
      ...writable.map((path) => `--tmpfs=${path}:uid=65532,gid=65532,mode=0700`),
      ...Object.entries(mounts).map(([inside, outside]) => `--volume=${outside}:${inside}:ro`),
    ];
    return new Container(await docker('run', '--detach', ...STRICT, '--memory=256m', ...flags, image));
  }

  async exec(...command: string[]): Promise<string> {
    return docker('exec', this.id, ...command);
  }

  async logs(): Promise<string> {
    const { stdout, stderr } = await run(DOCKER, ['logs', this.id], { timeout: 10_000 });
    return `${stdout}${stderr}`;
  }

  /** SIGTERM, as a cluster ends a Pod; the exit code, 137 when it had to be killed. */
  async stop(): Promise<number> {
    await docker('stop', '--time=20', this.id);
    return Number(await docker('inspect', '--format={{.State.ExitCode}}', this.id));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await docker('rm', '--force', '--volumes', this.id);
  }
}
