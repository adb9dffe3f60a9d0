import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { installDefinitions } from '../support/install-definitions.ts';
import {
  AuditReader,
  countByKind,
  FLEET_AUDIT_POLICY,
  fleetInstance,
  fleetName,
  isWrite,
  manyAtOnce,
  OperatorProcess,
  prepareFleet,
  type AuditedRequest,
} from '../support/reconcile-fleet.ts';
import { describeRealCluster, START_TIMEOUT_MS, type RealCluster } from '../support/real-cluster/real-cluster.ts';

const INSTANCES = 100;
const NAMESPACE = 'fleet';

describeRealCluster('what the operator asks of a real API server', (start) => {
  let cluster: RealCluster;
  let api: ClusterApi & AsyncDisposable;
  let stateDir: string;
  let audit: AuditReader;

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'reconcile-requests-'));
    cluster = await start({ auditPolicy: FLEET_AUDIT_POLICY });
    api = connectCluster({
      kubeconfig: { kind: 'text', yaml: cluster.kubeconfig },
      userAgent: 'fleet',
      clock: systemClock,
      random: Math.random,
    });
    await installDefinitions(api);
    await prepareFleet(api, [NAMESPACE]);
    await manyAtOnce(INSTANCES, 4, async (number) => await api.create(await fleetInstance(NAMESPACE, number), 'fleet'));
    audit = new AuditReader(cluster.auditLogPath ?? '', 'service-operator');
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await api?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    await rm(stateDir, { recursive: true, force: true });
  });

  /** Of this fleet's objects, from a place in the log on. */
  const asked = (from = 0): readonly AuditedRequest[] =>
    audit
      .read()
      .slice(from)
      .filter(({ namespace }) => namespace === NAMESPACE);
  const statusWritten = (name: string, from = 0): boolean =>
    asked(from).some((one) => one.resource === 'applicationinstances/status' && one.name === name);

  it(
    'four writes for a new instance and no reads: finalizer, source, release, status',
    { timeout: 120_000 },
    async () => {
      await using operator = new OperatorProcess(cluster.kubeconfigPath, stateDir);
      const names = Array.from({ length: INSTANCES }, (_, number) => fleetName(number));
      await expect
        .poll(() => names.filter((name) => !statusWritten(name)).length, { timeout: 100_000, interval: 200 })
        .toBe(0);
      // One more, so that what the first ones left behind in the queue has been worked on.
      await api.create(await fleetInstance(NAMESPACE, INSTANCES), 'fleet');
      const last = fleetName(INSTANCES);
      await expect.poll(() => statusWritten(last), { timeout: 60_000, interval: 100 }).toBe(true);
      const { list, watch, ...perInstance } = withWatches(countByKind(asked()));
      expect(perInstance).toEqual({
        'patch applicationinstances': INSTANCES + 1,
        'patch ocirepositories': INSTANCES + 1,
        'patch helmreleases': INSTANCES + 1,
        'patch applicationinstances/status': INSTANCES + 1,
      });
      expect({ list, watchesAreFew: watch <= 3 }).toEqual({ list: 3, watchesAreFew: true });
      expect(asked().filter(({ status }) => status >= 300)).toEqual([]);
      expect(operator.hasEnded ? operator.log : 'it runs').toBe('it runs');
    },
  );

  it('nothing but lists and watches for instances that are as they should be', { timeout: 120_000 }, async () => {
    const before = audit.read().length;
    await using operator = new OperatorProcess(cluster.kubeconfigPath, stateDir);
    await api.create(await fleetInstance(NAMESPACE, INSTANCES + 1), 'fleet');
    const last = fleetName(INSTANCES + 1);
    await expect.poll(() => statusWritten(last, before), { timeout: 100_000, interval: 200 }).toBe(true);
    const others = asked(before).filter(({ name, verb }) => name !== last && verb !== 'list' && verb !== 'watch');
    expect(others.filter(isWrite)).toEqual([]);
    expect(countByKind(others)).toEqual({});
    expect(operator.hasEnded ? operator.log : 'it runs').toBe('it runs');
  });
});

/** Lists and watches are for all instances together. */
function withWatches(counts: Record<string, number>): Record<string, number> & { list: number; watch: number } {
  const sums = { list: 0, watch: 0 };
  const rest: Record<string, number> = {};
  for (const [key, count] of Object.entries(counts)) {
    if (key.startsWith('list ')) sums.list += count;
    else if (key.startsWith('watch ')) sums.watch += count;
    else rest[key] = count;
  }
  return { ...rest, ...sums };
}
