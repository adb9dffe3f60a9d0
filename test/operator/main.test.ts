import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';

const MAIN = join(import.meta.dirname, '../../src/operator/main.ts');

async function run(environment: Readonly<Record<string, string>>): Promise<{ code: number | null; stderr: string }> {
  return await new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [MAIN],
      { env: { PATH: process.env['PATH'], ...environment } },
      (_, __, stderr) => {
        resolve({ code: child.exitCode, stderr });
      },
    );
  });
}

describe('the operator as a program', () => {
  it('stops at a variable that it does not know, with one line', async () => {
    expect(await run({ SERVICE_OPERATOR_NAMESPCE: 'x' })).toEqual({
      code: 2,
      stderr:
        'service-operator: SERVICE_OPERATOR_NAMESPCE is not known; the operator reads SERVICE_OPERATOR_NAMESPACE, SERVICE_OPERATOR_KUBECONFIG, SERVICE_OPERATOR_LISTEN, SERVICE_OPERATOR_STATE_DIR, SERVICE_LOG_LEVEL\n',
    });
  });

  it('stops at a kubeconfig that is not there, with one line', async () => {
    expect(await run({ SERVICE_OPERATOR_KUBECONFIG: '/nonexistent/kubeconfig' })).toEqual({
      code: 2,
      stderr:
        "service-operator: kubeconfig /nonexistent/kubeconfig cannot be read: ENOENT: no such file or directory, open '/nonexistent/kubeconfig'\n",
    });
  });

  it('stops where there is neither a kubeconfig nor a cluster around it, with one line', async () => {
    const { code, stderr } = await run({});
    expect({ code, lines: stderr.split('\n').length }).toEqual({ code: 2, lines: 2 });
    expect(stderr).toMatch(/^service-operator: .*KUBERNETES_SERVICE_HOST.*give it a kubeconfig\n$/);
  });

  it('stops where its address is taken, with one line', async () => {
    await using sandbox = await startSandbox();
    await using folder = await mkdtempDisposable(join(tmpdir(), 'operator-main-'));
    const kubeconfig = join(folder.path, 'kubeconfig');
    await writeFile(kubeconfig, sandbox.kubeconfig());
    const SERVICE_OPERATOR_LISTEN = new URL(sandbox.url).host;
    const { code, stderr } = await run({ SERVICE_OPERATOR_KUBECONFIG: kubeconfig, SERVICE_OPERATOR_LISTEN });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `service-operator: listen EADDRINUSE: address already in use ${SERVICE_OPERATOR_LISTEN}\n`,
    });
  });
});
