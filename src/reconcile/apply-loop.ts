import type { DesiredItem, DesiredSet, Outcome } from '../delivery/delivery.ts';
import type { Reporter } from '../events/report/reporter.ts';
import type { ClusterApi } from '../kube/cluster-api.ts';
import { refOf, type KubeObject, type ObjectRef } from '../resources/kube-object.ts';
import { Reason } from '../resources/reasons.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { applyItem } from './apply-item.ts';
import type { ApplyReport } from './apply-report.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import type { Inventory } from './inventory.ts';
import { objectKey, type InventoryRecord } from './inventory-record.ts';
import { Pass, type NamespaceGrants } from './pass.ts';
import { failed, refused } from './refusal.ts';
import { refOfTombstone, removeItem } from './remove-item.ts';
import { dependencyOrder } from './dependency-order.ts';
import { pruneItem } from './prune-item.ts';
import { greaterPair, pairOf } from './source-pair.ts';
import { withoutMark } from './tombstone-mark.ts';
import { pruneWaitsFor, refOfRecord, toPrune, vanished } from './vanished.ts';
import { writesArePaused } from './write-checks.ts';

/** Writes under way at a time: enough to hide latency, few enough for a small API server. */
const CONCURRENCY = 8;

/** Brings one desired set about in the cluster. The same for every transport. */
export interface ApplyLoop {
  /**
   * Rejects only when aborted. Calls must not overlap.
   *
   * @param ended aborted: the pass ends between two items, and its report says so
   */
  apply(set: DesiredSet, signal: AbortSignal, ended?: AbortSignal): Promise<ApplyReport>;
}

export interface ApplyLoopDeps {
  readonly api: ClusterApi;
  readonly inventory: Inventory;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: () => ClusterPolicy;
  /** Told of uninstalls whose object was not there any more. */
  readonly reporter?: Reporter;
  readonly grants?: NamespaceGrants;
}

export function createApplyLoop(deps: ApplyLoopDeps): ApplyLoop {
  return { apply: (set, signal, ended) => applySet(deps, set, signal, ended) };
}

async function applySet(
  deps: ApplyLoopDeps,
  set: DesiredSet,
  signal: AbortSignal,
  ended?: AbortSignal,
): Promise<ApplyReport> {
  const policy = deps.policy();
  if (policy.paused) return pausedReport(set, policy);
  const pass = new Pass(deps, policy, set.revision);
  const outcomes = new Map<string, Outcome>();
  let inventoryBehind = false;
  /** What another mode or an earlier stay in this one brought has vanished from no directory before its file came. */
  const isOfNow = ({ epoch }: InventoryRecord): boolean => epoch >= policy.deliveryEpoch;
  const records = deps.inventory.records();
  try {
    const refs = [
      ...set.objects.map(({ object }) => refOf(object)),
      ...set.removals.map(({ tombstone }) => refOfTombstone(tombstone)),
      ...vanished(set, records).map(refOfRecord),
    ];
    await pass.live.expect(
      refs.filter((ref) => pass.mayRead(ref)),
      signal,
    );
  } catch (error) {
    // Each item then reads for itself and says what is wrong.
    signal.throwIfAborted();
    deps.logger.warn({ err: error }, 'cannot list what is in the cluster');
  }

  const inTurns = turnsOf(signal, ended);
  const newestOf = newestItems(set.objects);
  // Deletions first: what they remember keeps an older manifest of the same set from bringing the object back.
  await inTurns(set.removals, async (removal) => {
    const wanted = newestOf.get(objectKey(removal.tombstone));
    const wantedPair = wanted === undefined ? undefined : pairOf(wanted.object);
    outcomes.set(removal.key, await removeItem(pass, removal, wantedPair, signal));
  });
  const wanted = new Set(newestOf.values());
  const { turns, circles } = await dependencyOrder([...wanted], async (ref) => await lookUp(pass, ref, signal));
  for (const item of set.objects) {
    const overshadowed = isOvershadowed(item, newestOf.get(objectKey(refOf(item.object))) ?? item);
    const circle = circles.get(item.key);
    if (overshadowed !== undefined) outcomes.set(item.key, overshadowed);
    else if (circle !== undefined) outcomes.set(item.key, refused(Reason.SpecInvalid, circle));
  }
  for (const turn of turns) {
    await inTurns(turn, async (item) => {
      outcomes.set(item.key, await applyItem(pass, item, signal));
    });
  }

  const stale = new Set([...outcomes].filter(([, { state }]) => state === 'stale').map(([key]) => key));
  // Last, so that what takes another's place is there before that goes.
  const gone = toPrune(set, vanished(set, deps.inventory.records(), stale).filter(isOfNow));
  const waits = pruneWaitsFor(set, outcomes, gone);
  const pruned = waits === undefined ? gone : [];
  await inTurns(pruned, async (record) => {
    outcomes.set(record.sourceKey, await pruneItem(pass, record, set, signal));
  });
  const prunedKeys = new Set(pruned.map(({ sourceKey }) => sourceKey));
  const removedWithoutTombstone: ObjectRef[] = [];
  const left = vanished(set, deps.inventory.records(), stale).filter(
    ({ sourceKey }) => !prunedKeys.has(sourceKey) || outcomes.get(sourceKey)?.state === 'stale',
  );
  await inTurns(left, async (record) => {
    const ref = refOfRecord(record);
    const isLive = await stillThere(pass, record, isOfNow(record), signal);
    if (isLive && isOfNow(record)) removedWithoutTombstone.push(ref);
    if (!isLive)
      deps.inventory.remember({
        ...ref,
        epoch: record.epoch,
        generation: record.generation,
        at: deps.clock.now().toISOString(),
      });
  });

  try {
    await deps.inventory.save(signal);
  } catch (error) {
    signal.throwIfAborted();
    // Nothing is lost: labels and the next pass restore what it would have said.
    inventoryBehind = true;
    deps.logger.warn({ err: error }, 'cannot save the inventory; it is tried again');
  }
  const isCut = ended?.aborted === true;
  return {
    ...(set.revision === undefined ? {} : { revision: set.revision }),
    complete: set.scope === 'complete' && !isCut,
    ...(isCut ? { isCut } : {}),
    outcomes,
    removals: new Set([...set.removals.map(({ key }) => key), ...prunedKeys]),
    pruned: prunedKeys,
    removedWithoutTombstone: removedWithoutTombstone.sort((a, b) => (objectKey(a) < objectKey(b) ? -1 : 1)),
    faults: waits === undefined ? set.faults : [waits, ...set.faults],
    retryable: inventoryBehind || [...outcomes.values()].some(mayPass),
  };
}

/** Break-glass on the Cluster: nothing is looked at, let alone written, and one fault says why. */
function pausedReport(set: DesiredSet, policy: ClusterPolicy): ApplyReport {
  const message = writesArePaused(policy)?.message ?? '';
  return {
    ...(set.revision === undefined ? {} : { revision: set.revision }),
    complete: false,
    outcomes: new Map(),
    removals: new Set(),
    pruned: new Set(),
    removedWithoutTombstone: [],
    faults: [...set.faults, { key: 'Cluster', reason: Reason.Paused, message }],
    retryable: false,
  };
}

/** By object: the item with the highest pair. */
function newestItems(items: readonly DesiredItem[]): ReadonlyMap<string, DesiredItem> {
  const newest = new Map<string, DesiredItem>();
  for (const item of items) {
    const key = objectKey(refOf(item.object));
    const other = newest.get(key);
    const pair = pairOf(item.object);
    if (other === undefined || greaterPair(pairOf(other.object), pair) === pair) newest.set(key, item);
  }
  return newest;
}

/** Two files that name one object would overwrite each other in turn, pass after pass: the newer one counts. */
function isOvershadowed(item: DesiredItem, newest: DesiredItem): Outcome | undefined {
  if (newest === item) return undefined;
  return failed(Reason.ManifestRefused, `${newest.key} names the same object; keep one of the two`);
}

/** What cannot be read needs nothing that is known of. */
async function lookUp(pass: Pass, ref: ObjectRef, signal: AbortSignal): Promise<KubeObject | undefined> {
  try {
    return await pass.liveIfAllowed(ref, signal);
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** `isOfNow`: the source, in which it is no more, is what brought it; only then it says whether the end is meant. */
async function stillThere(
  pass: Pass,
  record: InventoryRecord,
  isOfNow: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const ref = refOfRecord(record);
  // Not readable is not gone.
  if (!pass.mayRead(ref)) return true;
  try {
    const live = await pass.live.get(ref, signal);
    if (live?.metadata.uid !== record.uid) return false;
    if (isOfNow) await withoutMark(pass, live, signal);
    return true;
  } catch {
    signal.throwIfAborted();
    return true;
  }
}

/** Worth a later try with nothing new in the source. */
function mayPass(outcome: Outcome): boolean {
  switch (outcome.state) {
    case 'failed':
    case 'conflict':
    case 'refused':
      return outcome.reason !== Reason.ManifestInvalid && outcome.reason !== Reason.ManifestRefused;
    case 'applied':
    case 'unchanged':
    case 'deleted':
    case 'absent':
    case 'stale':
      return false;
  }
}

/** Works on items a few at a time; once the pass is to end, those that are begun are the last. */
function turnsOf(
  signal: AbortSignal,
  ended: AbortSignal | undefined,
): <T>(items: readonly T[], work: (item: T) => Promise<void>) => Promise<void> {
  return async (items, work) => {
    const rest = items.values();
    const worker = async (): Promise<void> => {
      for (const item of rest) {
        signal.throwIfAborted();
        if (ended?.aborted === true) return;
        await work(item);
      }
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, worker));
  };
}
