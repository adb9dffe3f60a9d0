import type { StatusChange } from '../../../src/events/report/reporter.ts';
import type { ClusterApi } from '../../../src/kube/cluster-api.ts';
import type { ClusterPolicy } from '../../../src/policy/cluster-policy.ts';
import { ConsumedApprovals } from '../../../src/reconcile/consumed-approvals.ts';
import { Inventory } from '../../../src/reconcile/inventory.ts';
import { startReconciler, type Reconciler } from '../../../src/reconcile/reconciler.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { aPolicy, CLUSTER_ID } from '../manifests.ts';
import { RecordingApi, type Recorded } from '../recording-api.ts';
import { logger } from '../test-cluster.ts';

/** A reconciler and what it said, as one process would hold them. */
export interface Operator extends AsyncDisposable {
  readonly recording: RecordingApi;
  readonly inventory: Inventory;
  readonly reconciler: Reconciler;
  readonly reported: readonly StatusChange[];
  /** Cluster events, `<type> <reason>: <message>`. */
  readonly events: readonly string[];
  allow(policy: ClusterPolicy): void;
  /** Messages about sealed values that did not open. */
  readonly notOpened: readonly string[];
  /** `<intent>: <type>=<status>/<reason> …` of each report, in order. */
  readonly story: readonly string[];
}

const KEYS = [new Secret('{"kty":"OKP","d":"a key of the cluster"}')];

/** Private keys that a test may change under the operator. */
export interface Keys {
  ring: readonly Secret[] | undefined;
}

export async function startOperator(
  api: ClusterApi,
  options: {
    readonly beforeWrite?: (write: Recorded) => void;
    readonly policy?: ClusterPolicy;
    readonly keys?: Keys;
  } = {},
): Promise<Operator> {
  const recording = new RecordingApi(api);
  const inventory = new Inventory({ api, logger, clusterId: () => CLUSTER_ID });
  await inventory.load(new AbortController().signal);
  const approvals = new ConsumedApprovals({ api: recording.api, clock: systemClock, clusterId: () => CLUSTER_ID });
  const reported: StatusChange[] = [];
  const events: string[] = [];
  const notOpened: string[] = [];
  let policy = options.policy ?? aPolicy();
  let changed = (): void => undefined;
  if (options.beforeWrite !== undefined) recording.beforeWrite = options.beforeWrite;
  const reconciler = startReconciler({
    api: recording.api,
    inventory,
    approvals,
    reporter: { statusChanged: (change) => void reported.push(change) },
    recorder: { record: (_, { type, reason, message }) => void events.push(`${type} ${reason}: ${message}`) },
    clock: systemClock,
    random: () => 0,
    logger,
    policy: () => policy,
    keyRing: () => (options.keys === undefined ? KEYS : options.keys.ring),
    onNotOpened: (_, message) => void notOpened.push(message),
    onPolicyChange: (listener) => {
      changed = listener;
    },
  });
  return {
    recording,
    inventory,
    reconciler,
    reported,
    events,
    notOpened,
    allow(next) {
      policy = next;
      changed();
    },
    get story() {
      return reported.map(({ source, after }) => {
        const conditions = after.map(({ type, status, reason }) => `${type}=${status}/${reason ?? ''}`);
        return `${source.intentId ?? '?'}: ${conditions.join(' ')}`;
      });
    },
    [Symbol.asyncDispose]: async () => reconciler[Symbol.asyncDispose](),
  };
}
