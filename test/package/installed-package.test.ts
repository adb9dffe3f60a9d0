import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installPackage, type InstalledPackage } from './installed-package.ts';

const { version, bin } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
};

describe('the package as npm installs it', { timeout: 60_000 }, () => {
  let installed: InstalledPackage;
  beforeAll(async () => {
    installed = await installPackage();
  }, 180_000);
  afterAll(async () => installed?.[Symbol.asyncDispose]());

  it('holds what the programs read and neither sources, tests nor the sandbox', () => {
    expect(installed.files).toEqual(
      expect.arrayContaining([
        'README.md',
        'crds/ops.service.io_clusters.yaml',
        'dist/control-plane/main.js',
        'dist/operator/main.js',
        'dist-web/index.html',
        'templates/application-instance.yaml',
        'templates/install/operator/deployment.yaml',
      ]),
    );
    const folders = new Set(installed.files.map((path) => path.slice(0, path.indexOf('/') + 1)));
    expect(folders).toEqual(new Set(['', 'bin/', 'crds/', 'dist-web/', 'dist/', 'docs/', 'templates/']));
    expect(installed.files.filter((path) => path.startsWith('dist/sandbox/') || path.endsWith('.ts'))).toEqual([]);
  });

  it.each(Object.keys(bin))('starts %s from node_modules/.bin', async (program) => {
    const { code, stdout, stderr } = await installed.run(program, ['--version']);
    expect({ code, stderr, named: stdout.includes(version) }).toEqual({ code: 0, stderr: '', named: true });
    const help = await installed.run(program, ['--help']);
    expect({ code: help.code, stderr: help.stderr }).toEqual({ code: 0, stderr: '' });
    expect(help.stdout).toContain(`Usage: ${program}`);
  });

  it.each(['service-control-plane', 'service-operator'])('lets %s say which variable is wrong', async (program) => {
    const { code, stdout, stderr } = await installed.run(program, [], { SERVICE_TYPO: '1' });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^${program}: SERVICE_TYPO:? is not known; .*\\n$`));
  });

  it('gives the compiled control plane its migrations and templates', async () => {
    // Its own port is taken: it opens the database and the repositories first, and then says so and ends.
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const { code, stderr } = await installed.run('service-control-plane', [], {
      SERVICE_LISTEN: `127.0.0.1:${port}`,
      SERVICE_DATA_DIR: join(installed.folder, 'data'),
    });
    server.close();
    expect(stderr).toContain('EADDRINUSE');
    expect(code).toBe(2);
    expect(
      readFileSync(join(installed.folder, 'data', 'control-plane.db'))
        .subarray(0, 15)
        .toString(),
    ).toBe('SQLite format 3');
  });
});
