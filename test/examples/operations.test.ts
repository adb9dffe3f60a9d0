import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { DayTwo, type Told } from '../../examples/operations/day-two.ts';
import { AUDIT, CHANNEL, ENDS } from '../../examples/operations/expected.ts';
import { setStage } from '../../examples/operations/stage.ts';
import { silentProgress } from '../../examples/first-app/progress.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { installDefinitions } from '../support/install-definitions.ts';
import { describeRealCluster } from '../support/real-cluster/real-cluster.ts';

const run = promisify(execFile);
const DEMO = join(import.meta.dirname, '..', '..', 'examples', 'first-app', 'main.ts');
const LIMIT_MS = 180_000;
const AS_EXPECTED = { ok: true, differences: [], ends: ENDS, audit: AUDIT, channel: CHANNEL };

describe('examples/operations', () => {
  it('runs, restores with an approval, cancels and misses a deadline as expected', { timeout: LIMIT_MS }, async () => {
    const args = [DEMO, '--scenario', 'operations', '--json'];
    const { stdout } = await run(process.execPath, args, { timeout: LIMIT_MS - 5000 });
    expect(JSON.parse(stdout) as Told).toEqual(AS_EXPECTED);
  });
});

describeRealCluster('examples/operations on a real API server', (start) => {
  it('tells the same', { timeout: LIMIT_MS }, async () => {
    await using cluster = await start();
    await using api = connectCluster({
      kubeconfig: { kind: 'text', yaml: cluster.kubeconfig },
      userAgent: 'operations-test',
      clock: systemClock,
      random: Math.random,
    });
    await installDefinitions(api, { own: false });
    await using stage = await setStage(silentProgress, cluster.kubeconfigPath);
    expect(await new DayTwo({ stage, progress: silentProgress }).run()).toEqual(AS_EXPECTED);
  });
});
