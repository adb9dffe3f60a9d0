import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { ClusterApi } from '../src/kube/cluster-api.ts';
import { connectCluster } from '../src/kube/connect-cluster.ts';
import { desiredRelease } from '../src/reconcile/application-instance/desired-release.ts';
import { desiredOciRepository } from '../src/reconcile/application-instance/desired-source.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { hasFluxDefinitions, installDefinitions } from '../test/support/install-definitions.ts';
import { startAssetsCluster } from '../test/support/real-cluster/assets-cluster.ts';
import { realClusterSource } from '../test/support/real-cluster/cluster-source.ts';
import {
  AuditReader,
  BUILT_OPERATOR,
  countByKind,
  FLEET_AUDIT_POLICY,
  FLEET_CLUSTER_ID,
  fleetInstance,
  isWrite,
  manyAtOnce,
  OperatorProcess,
  prepareFleet,
  type AuditedRequest,
} from '../test/support/reconcile-fleet.ts';

/**
 * How fast instances become HelmReleases and their sources on a real API server, beside bare server-side applies of the
 * same objects: in pairs, by times of the server's audit log, with the same client and as many requests at once.
 */
const { values } = parseArgs({
  options: { instances: { type: 'string', default: '1000' }, rounds: { type: 'string', default: '3' } },
});
const INSTANCES = Number(values.instances);
const ROUNDS = Number(values.rounds);
/** Keys that the operator works on at once; each has one request under way. */
const AT_ONCE = 8;
const MADE: ReadonlySet<string> = new Set(['helmreleases', 'ocirepositories']);
const PATIENCE_MS = 300_000;

interface Window {
  /** To the last source or release. */
  readonly perSecond: number;
  /** To the last request of all: for the operator, the last status. */
  readonly settledPerSecond: number;
  readonly requests: Record<string, number>;
}

if (!existsSync(BUILT_OPERATOR)) throw new Error('this measures the operator as it is shipped: npm run build first');
const source = realClusterSource();
if (source?.kind !== 'assets') throw new Error('this needs the binaries of a cluster: run test/kube/build.sh');
const stateDir = await mkdtemp(join(tmpdir(), 'bench-reconcile-'));
await using taken = new AsyncDisposableStack();
taken.defer(async () => await rm(stateDir, { recursive: true, force: true }));
const cluster = taken.use(await startAssetsCluster(source, { auditPolicy: FLEET_AUDIT_POLICY }));
const api: ClusterApi = taken.use(
  connectCluster({
    kubeconfig: { kind: 'text', yaml: cluster.kubeconfig },
    userAgent: 'bare',
    clock: systemClock,
    random: Math.random,
  }),
);
const auditOf = (userAgent: string): AuditReader => new AuditReader(cluster.auditLogPath ?? '', userAgent);
const operatorAudit = auditOf('service-operator');
const rounds = Array.from({ length: ROUNDS }, (_, round) => ({ fleet: `fleet-${round}`, bare: `bare-${round}` }));

await installDefinitions(api);
await prepareFleet(
  api,
  rounds.flatMap(({ fleet, bare }) => [fleet, bare]),
);
await prepareInstances(`fleet-0`);

/** Instances per second, from the first request about them. */
function windowOf(requests: readonly AuditedRequest[]): Window {
  const made = requests.filter(({ resource, verb }) => MADE.has(resource) && verb === 'patch');
  const from = Math.min(...requests.map(({ receivedAt }) => receivedAt));
  const until = Math.max(...made.map(({ answeredAt }) => answeredAt));
  const settled = Math.max(...requests.map(({ answeredAt }) => answeredAt));
  return {
    perSecond: (INSTANCES * 1000) / (until - from),
    settledPerSecond: (INSTANCES * 1000) / (settled - from),
    requests: countByKind(requests),
  };
}

async function prepareInstances(namespace: string): Promise<void> {
  await manyAtOnce(INSTANCES, 8, async (number) => await api.create(await fleetInstance(namespace, number), 'fleet'));
}

/** Requests about one namespace's objects; lists and watches are about all of them. */
function about(namespace: string): readonly AuditedRequest[] {
  return operatorAudit
    .read()
    .filter((one) => one.namespace === namespace && one.verb !== 'list' && one.verb !== 'watch');
}

async function operatorLane(namespace: string): Promise<Window & { peakMiB: number; writesToEarlier: number }> {
  const earlier = operatorAudit.read().length;
  await using operator = new OperatorProcess(cluster.kubeconfigPath, stateDir, BUILT_OPERATOR);
  const until = Date.now() + PATIENCE_MS;
  const hasAllStatuses = (): boolean =>
    about(namespace).filter(({ resource }) => resource === 'applicationinstances/status').length >= INSTANCES;
  while (!hasAllStatuses()) {
    if (operator.hasEnded || Date.now() > until) throw new Error(`the operator did not finish: ${operator.log}`);
    await systemClock.sleep(200);
  }
  // What the watch still tells of its own writes is worked on too.
  await systemClock.sleep(2000);
  const { peakMiB, nowMiB } = operator.memory();
  process.stderr.write(`operator: ${nowMiB} MiB resident, ${peakMiB} MiB at its highest\n`);
  const others = operatorAudit.read().slice(earlier);
  const writesToEarlier = others.filter(
    (one) => isWrite(one) && one.namespace.startsWith('fleet-') && one.namespace !== namespace,
  ).length;
  return { ...windowOf(about(namespace)), peakMiB, writesToEarlier };
}

async function bareLane(namespace: string): Promise<Window> {
  const audit = auditOf('bare');
  audit.read();
  const before = audit.requests.length;
  const options = { fieldManager: 'bare', force: true };
  // Made beforehand: only the applies are measured.
  const instances = await Promise.all(
    Array.from({ length: INSTANCES }, async (_, n) => await fleetInstance(namespace, n)),
  );
  const rest = instances.values();
  await manyAtOnce(AT_ONCE, AT_ONCE, async () => {
    for (const instance of rest) {
      await api.apply(desiredOciRepository(instance, FLEET_CLUSTER_ID), options);
      await api.apply(desiredRelease(instance, undefined, FLEET_CLUSTER_ID), options);
    }
  });
  return windowOf(
    audit
      .read()
      .slice(before)
      .filter((one) => one.namespace === namespace),
  );
}

/** Starts the operator once more over everything: what it writes, by kind. */
async function secondPass(): Promise<Record<string, number>> {
  const before = operatorAudit.read().length;
  const last = rounds.at(-1)?.fleet ?? '';
  const marker = await fleetInstance(last, INSTANCES);
  await using operator = new OperatorProcess(cluster.kubeconfigPath, stateDir, BUILT_OPERATOR);
  await api.create(marker, 'fleet');
  const isDone = (): boolean =>
    operatorAudit
      .read()
      .slice(before)
      .some((one) => one.name === marker.metadata.name && one.resource === 'applicationinstances/status');
  for (const until = Date.now() + PATIENCE_MS; !isDone(); await systemClock.sleep(200)) {
    if (operator.hasEnded || Date.now() > until) throw new Error(`the operator did not finish: ${operator.log}`);
  }
  await systemClock.sleep(2000);
  const since = operatorAudit.read().slice(before);
  return countByKind(
    since.filter((one) => isWrite(one) && one.namespace.startsWith('fleet-') && one.name !== marker.metadata.name),
  );
}

const measured: { operator: Awaited<ReturnType<typeof operatorLane>>; bare: Window }[] = [];
for (const [index, { fleet, bare }] of rounds.entries()) {
  if (index > 0) await prepareInstances(fleet);
  // In turns, so that neither has always the warmer server.
  process.stderr.write(`round ${index + 1} of ${ROUNDS}\n`);
  if (index % 2 === 0) {
    const operator = await operatorLane(fleet);
    measured.push({ operator, bare: await bareLane(bare) });
  } else {
    const first = await bareLane(bare);
    measured.push({ operator: await operatorLane(fleet), bare: first });
  }
}
const rounded = (value: number, digits = 0): number => Number(value.toFixed(digits));
const report = {
  server: cluster.version,
  fluxDefinitions: hasFluxDefinitions ? "Flux' own" : 'minimal',
  instances: INSTANCES,
  requestsAtOnce: AT_ONCE,
  rounds: measured.map(({ operator, bare }) => ({
    operatorPerSecond: rounded(operator.perSecond, 1),
    barePerSecond: rounded(bare.perSecond, 1),
    ratio: rounded(operator.perSecond / bare.perSecond, 2),
    ratioToTheLastStatus: rounded(operator.settledPerSecond / bare.perSecond, 2),
    operatorPeakMiB: operator.peakMiB,
    writesToInstancesOfEarlierRounds: operator.writesToEarlier,
  })),
  requestsOfTheFirstRound: measured[0]?.operator.requests,
  writesOfTheSecondPass: await secondPass(),
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
