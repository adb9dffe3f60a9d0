import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

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

  it('ends with an error that names a kubeconfig which is not there', async () => {
    const { code, stderr } = await run({ SERVICE_OPERATOR_KUBECONFIG: '/nonexistent/kubeconfig' });
    expect(code).toBe(1);
    expect(stderr).toContain('/nonexistent/kubeconfig');
  });
});
