import { describe, expect, it } from 'vitest';
import { HELM_RELEASE } from '../../src/resources/flux-helm-release.ts';
import { OCI_REPOSITORY } from '../../src/resources/flux-oci-repository.ts';
import { APPS_API_VERSION } from '../../src/resources/labels.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';
import { realStage, sandboxStage, type FailoverStage } from './failover-stage.ts';
import { leaseOf, Replica } from './replicas.ts';

const TIMEOUT = { timeout: START_TIMEOUT_MS + 90_000 };
const INSTANCE = { apiVersion: APPS_API_VERSION, kind: 'ApplicationInstance' };
const MADE = [INSTANCE, OCI_REPOSITORY, HELM_RELEASE];
const APPLY = /^APPLY .*\/applicationinstances\/[^/]+$/;
const SETTLED = ['a', 'b', 'c'];
const BURST = Array.from({ length: 16 }, (_, index) => `burst-${index}`);
/** Applies are eight at a time, so that some of the burst are not even under way at this one. */
const KILLED_AT = 5;

interface RecordedEvent {
  readonly eventKey: string;
  readonly kind: string;
  readonly sequence?: string;
  readonly conditions: readonly object[];
}

async function untilTransitions(stage: FailoverStage, transitions: number): Promise<void> {
  const read = async (): Promise<number | undefined> => (await leaseOf(stage.api)).leaseTransitions;
  await expect.poll(read, { timeout: 30_000, interval: 50 }).toBe(transitions);
}

async function twoReplicas(stage: FailoverStage): Promise<{ readonly first: Replica; readonly second: Replica }> {
  const first = await Replica.start(stage.place, 'first');
  await untilTransitions(stage, 0);
  const second = await Replica.start(stage.place, 'second');
  await expect.poll(() => second.log.join('\n'), { timeout: 20_000 }).toContain('this one stands by');
  return { first, second };
}

async function accept(stage: FailoverStage, names: readonly string[]): Promise<void> {
  const path = `/clusters/${stage.clusterId}/intents`;
  const answers = await Promise.all(
    names.map(async (name) => await stage.plane.call('POST', path, { ...INSTALL, name })),
  );
  expect(answers.map(({ status }) => status)).toEqual(names.map(() => 202));
}

/** Resolves when every intent has come to `ready`, so that the control plane has heard of every release. */
async function untilReady(stage: FailoverStage, intents: number): Promise<void> {
  const states = (): unknown => stage.plane.query('SELECT state, count(*) AS intents FROM intents GROUP BY state');
  await expect.poll(states, { timeout: 40_000, interval: 50 }).toEqual([{ state: 'ready', intents }]);
}

/** Kind, name, uid and resourceVersion of everything that was made; and of what the operator is known by. */
async function standing(stage: FailoverStage): Promise<string[]> {
  const lists = await Promise.all(MADE.map(async (kind) => (await stage.api.list(kind)).items));
  const secrets = await Promise.all(
    ['service-operator-credentials', 'service-operator-keypair'].map(
      async (name) =>
        (await stage.api.get({ apiVersion: 'v1', kind: 'Secret', namespace: 'service-system', name })) ?? {
          kind: 'Secret',
          metadata: { name: `${name} is missing`, uid: '', resourceVersion: '' },
        },
    ),
  );
  return [...lists.flat(), ...secrets]
    .map(({ kind, metadata: { name, uid, resourceVersion } }) => `${kind} ${name} ${uid} ${resourceVersion}`)
    .sort();
}

async function allEvents({ plane, clusterId }: FailoverStage): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for (let cursor = ''; ;) {
    const { status, body } = await plane.call('GET', `/clusters/${clusterId}/events?limit=200${cursor}`);
    expect(status).toBe(200);
    events.push(...(body['items'] as RecordedEvent[]));
    if (body['nextCursor'] === undefined) return events;
    cursor = `&cursor=${String(body['nextCursor'])}`;
  }
}

/** Of each name in a collection, what its applies were answered with. */
function applies(replica: Replica, collection: string): Map<string, readonly (number | undefined)[]> {
  const answers = new Map<string, readonly (number | undefined)[]>();
  for (const { call, status } of replica.writes) {
    const [, name] = new RegExp(`^APPLY .*/${collection}/([^/]+)$`).exec(call) ?? [];
    if (name !== undefined) answers.set(name, [...(answers.get(name) ?? []), status]);
  }
  return answers;
}

/**
 * Whether an apply may have changed something. One that is answered with 409 has not: the object was written by somebody else
 * (the new leader's own reconciler, say) after it was read, and is read and judged anew.
 */
function mayHaveWritten(status: number | undefined): boolean {
  return status !== 409;
}

function twoReplicasOn(begin: () => Promise<FailoverStage>): void {
  it(
    'go on within 15 s when the leader is killed in the middle of a burst, and do nothing twice',
    TIMEOUT,
    async () => {
      await using stage = await begin();
      const { first, second } = await twoReplicas(stage);
      await using _first = first;
      await using _second = second;
      await accept(stage, SETTLED);
      await untilReady(stage, SETTLED.length);
      const before = await standing(stage);
      expect(before).toHaveLength(3 * SETTLED.length + 2);

      const dead = first.killedAtWrite(KILLED_AT, (write) => APPLY.test(write));
      await accept(stage, BURST);
      const killedAt = await dead;
      await untilTransitions(stage, 1);
      const { acquireTime = '' } = await leaseOf(stage.api);
      expect(Date.parse(acquireTime) - killedAt).toBeLessThan(15_000);
      await untilReady(stage, SETTLED.length + BURST.length);

      // What stood before stands as it did: no second apply, no other credential, no other key.
      const after = await standing(stage);
      expect(after).toHaveLength(3 * (SETTLED.length + BURST.length) + 2);
      expect(after.filter((line) => before.includes(line))).toEqual(before);
      for (const collection of ['applicationinstances', 'ocirepositories', 'helmreleases']) {
        const once = applies(first, collection);
        const again = applies(second, collection);
        expect([collection, SETTLED.filter((name) => again.has(name))]).toEqual([collection, []]);
        for (const answers of [once, again]) {
          const often = BURST.filter((name) => (answers.get(name) ?? []).filter(mayHaveWritten).length > 1);
          expect([collection, often]).toEqual([collection, []]);
        }
      }
      const begun = BURST.filter((name) => applies(first, 'applicationinstances').has(name));
      expect(begun.length).toBeGreaterThanOrEqual(KILLED_AT);
      expect(begun.length).toBeLessThan(BURST.length);
      const instances = await stage.api.list(INSTANCE);
      expect(new Set(instances.items.map(({ metadata }) => metadata.generation))).toEqual(new Set([1]));

      expect(stage.plane.query('SELECT count(*) AS credentials FROM agent_credentials')).toEqual([{ credentials: 1 }]);
      const events = (await allEvents(stage)).filter(({ kind }) => kind === 'ConditionTransition');
      const told = events.map(({ eventKey, conditions }) => `${eventKey} ${JSON.stringify(conditions)}`);
      expect(told).toHaveLength(new Set(told).size);
      // The new leader's numbers are above all of the dead one's.
      const terms = events.map(({ sequence = '' }) => Number(sequence.split('.')[0])).reverse();
      expect(terms).toEqual(terms.toSorted((a, b) => a - b));
      expect(new Set(terms)).toHaveLength(2);
    },
  );

  it('let one that was suspended past its time write nothing when it wakes up', TIMEOUT, async () => {
    await using stage = await begin();
    const { first, second } = await twoReplicas(stage);
    await using _first = first;
    await using _second = second;
    await expect
      .poll(() => stage.plane.query('SELECT count(*) AS credentials FROM agent_credentials'), { timeout: 20_000 })
      .toEqual([{ credentials: 1 }]);
    first.process.kill('SIGSTOP');
    // There is plenty that it would do.
    await accept(stage, SETTLED);
    await untilTransitions(stage, 1);
    await untilReady(stage, SETTLED.length);
    const { holderIdentity } = await leaseOf(stage.api);
    const written = first.writes.length;
    first.process.kill('SIGCONT');
    await expect.poll(() => first.log.join('\n'), { timeout: 20_000 }).toContain('not the leader any more');
    await expect
      .poll(() => first.log.filter((line) => line.includes('this one stands by')).length, { timeout: 20_000 })
      .toBe(1);
    expect(first.writes.slice(written).filter(({ call }) => !call.includes('/leases/'))).toEqual([]);
    expect((await leaseOf(stage.api)).holderIdentity).toBe(holderIdentity);
  });
}

describe('two replicas on the sandbox', () => {
  twoReplicasOn(sandboxStage);
});

describeRealCluster('two replicas on a real API server', (start) => {
  twoReplicasOn(async () => await realStage(start));
});
