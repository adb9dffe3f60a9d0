import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CliDeps } from '../../src/cli/cli-deps.ts';
import { servicectl } from '../../src/cli/servicectl.ts';

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A home with a configuration of its own, in which commands run in this process. */
export class Home implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'servicectl-'));
  readonly config = join(this.folder, 'servicectl', 'config.yaml');
  readonly env: Readonly<Record<string, string>> = { XDG_CONFIG_HOME: this.folder };

  /** A file in it. @returns its path */
  file(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  async run(args: readonly string[], more: Partial<CliDeps> = {}): Promise<Ended> {
    let out = '';
    let err = '';
    const env = { ...this.env, ...more.env };
    const code = await servicectl(args, {
      out: (text) => void (out += text),
      err: (text) => void (err += text),
      ...more,
      env,
    });
    return { code, out, err };
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}
