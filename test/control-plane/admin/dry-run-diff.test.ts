import { afterAll, beforeAll, expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  await plane.newCluster('prod');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function diffOf(intent: object): Promise<unknown> {
  const { status, body } = await plane.call('POST', '/clusters/prod/intents', { ...intent, dryRun: true });
  expect(status).toBe(200);
  return body['diff'];
}

it('shows what an intent would change of the manifest that stands, and nothing else', async () => {
  const install = String(await diffOf(INSTALL));
  expect(install.split('\n').slice(0, 3)).toEqual([
    '--- /dev/null',
    '+++ b/shop/podinfo.yaml',
    expect.stringMatching(/^@@ -0,0 \+1,\d+ @@$/),
  ]);
  expect(install).toContain('+kind: ApplicationInstance');

  const accepted = await plane.call('POST', '/clusters/prod/intents', { ...INSTALL, reason: 'the shop opens' });
  await plane.until(String(accepted.body['id']), 'delivered');

  const update = { ...INSTALL, action: 'update' };
  // Another id, generation, time and reason are no difference.
  expect(await diffOf({ ...update, reason: 'again' })).toBe('');
  const changed = String(await diffOf({ ...update, chartVersion: '6.5.4' })).split('\n');
  expect(changed.filter((line) => /^[+-]/.test(line))).toEqual([
    '--- a/shop/podinfo.yaml',
    '+++ b/shop/podinfo.yaml',
    expect.stringMatching(/^-\s+version: "?6\.5\.0"?$/),
    expect.stringMatching(/^\+\s+version: "?6\.5\.4"?$/),
  ]);

  const { action: _a, namespace, name } = INSTALL;
  const gone = String(await diffOf({ action: 'uninstall', namespace, name })).split('\n');
  expect(gone.slice(0, 2)).toEqual(['--- a/shop/podinfo.yaml', '+++ /dev/null']);
  expect(gone.filter((line) => line.startsWith('+'))).toEqual(['+++ /dev/null']);
});
