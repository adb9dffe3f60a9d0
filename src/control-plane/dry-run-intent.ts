import type { Kysely } from 'kysely';
import { carriedSealedValues, carryForward } from '../intent/carry-forward.ts';
import { throwIfTooLarge } from '../intent/check-intent.ts';
import type { IntentRecord } from '../intent/intent-record.ts';
import type { IntentRequest } from '../intent/intent-request.ts';
import { renderIntent, type RenderInputs } from '../intent/render.ts';
import type { Rendered } from '../intent/rendered.ts';
import type { Violation } from '../intent/violation.ts';
import { AppError, type ErrorCode, type Fault } from '../protocol/app-error.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import type { Reason } from '../resources/reasons.ts';
import { renderInputsOf, type AcceptIntentDeps, type IntentSubmission } from './accept-intent.ts';
import { APPROVAL_BYTES, approvalNeeded } from './approvals/request-approval.ts';
import { isReviewedInGit } from './approvals/standing.ts';
import { deprecationWarnings, type Warning } from './catalog/deprecation.ts';
import { clusterViolations } from './cluster-violations.ts';
import type { RequiredApprovals } from './git/git-settings.ts';
import { baseOf } from './intent-base.ts';
import { recordOf, templatePin } from './intent-record-of.ts';
import { assertDeliverable, generationIsAsExpected, intentViolations } from './intent-refusals.ts';
import { manifestDiff } from './manifest-diff.ts';
import { policyOfCluster } from './policy-of-cluster.ts';
import { requireValuesFit, valuesToCheck } from './require-values-fit.ts';
import { rollbackValues } from './rollback-values.ts';
import { sealSecretValues, valuesToStore } from './seal-secret-values.ts';
import { SIGNATURE_BYTES } from './sign-rendered.ts';
import { findCatalogEntry, type StoredCatalogEntry } from './store/catalog-entries.ts';
import { findCluster } from './store/clusters.ts';
import { lastIntentOf, targetKindOf } from './store/intents.ts';
import { findOrganization } from './store/organizations.ts';
import { reportedGenerationOf } from './store/reported-generations.ts';
import type { ClusterRow, Database } from './store/schema.ts';

/** One thing that the intent would be refused for: by the API, or by what the cluster judges it by. */
export interface DryRunViolation extends Fault {
  readonly at: 'api' | 'cluster';
  readonly reason?: Reason;
}

/** What would become of an intent. */
export interface DryRun {
  readonly dryRun: true;
  /** All of them; none: it would be accepted. */
  readonly violations: readonly DryRunViolation[];
  /** What would be said besides; absent: nothing. */
  readonly warnings?: readonly Warning[];
  /** Absent: it would wait for nobody. */
  readonly approval?: {
    readonly required: RequiredApprovals;
    /** `proposal`: whoever approves its proposal gives it; `approval`: it is given before the intent is delivered. */
    readonly via: 'approval' | 'proposal';
  };
  /** What would be delivered, but for its id, signature and approval; absent where it cannot be rendered. */
  readonly manifest?: string;
  /** What it changes of the manifest that stands, as a unified diff; empty: nothing. */
  readonly diff?: string;
}

/** In the manifest, where the id of an accepted intent would be. */
export const DRY_RUN_ID = 'int-dry-run';

/** Refusals that say something of the intent; others are of the request itself, or of the moment. */
const OF_INTENT: readonly ErrorCode[] = [
  'constraint_violated',
  'forbidden',
  'payload_too_large',
  'conflict',
  'cluster_disabled',
];

/**
 * Judges an intent as `acceptIntent` does and lists everything that it would be refused for, not the first alone. Nothing is
 * stored: no intent, no number, no audit entry.
 *
 * @throws AppError `not_found`, or `unavailable` where its values cannot be judged now
 */
export async function dryRunIntent(
  deps: AcceptIntentDeps,
  { clusterId, request: asked, requestedBy }: Omit<IntentSubmission, 'requestKey'>,
): Promise<DryRun> {
  const { db } = deps.store;
  const cluster = await findCluster(db, clusterId);
  if (cluster === undefined) throw new AppError('not_found', `there is no cluster ${clusterId}; it was just deleted`);
  const found = new Findings();
  const { namespace, name, action } = asked;
  const subject = { clusterId, kind: targetKindOf(action), namespace, name };
  const last = await lastIntentOf(db, subject);
  await found.of('', () => assertDeliverable(cluster));
  await found.of('/expectedGeneration', () => generationIsAsExpected(asked, last));
  const base = await found.of('', async () => await baseOf(db, asked, cluster, last));
  const lastRecord = base?.standing && (parseExactJson(base.standing.record) as IntentRecord);
  const request = carryForward(asked, lastRecord);
  const carried = carriedSealedValues(request, lastRecord);
  const entry = await entryOf(db, cluster, request);
  if (base !== undefined) found.add('api', intentViolations(request, cluster, entry, base));

  const sealing = await found.of('', async () => await sealSecretValues(db, clusterId, asked));
  const organization = await findOrganization(db, cluster.organization_id);
  const keys = { ...cluster, recovery_public_key: organization?.recovery_public_key ?? null };
  const sealed = await found.of('', () => valuesToStore(request, sealing, keys, base?.standing, carried));
  const now = deps.clock.now();
  const generation = Math.max(last?.generation ?? 0, await reportedGenerationOf(db, subject)) + 1;
  const record: IntentRecord = {
    ...recordOf(request, sealed ?? {}, requestedBy, generation, now, deps.randomBytes),
    ...templatePin(base?.templates),
    id: DRY_RUN_ID,
  };
  const approval = await approvalNeeded(db, cluster, record);
  const rendered = rendering(record, cluster, { ...renderInputsOf(entry), ...approval?.inputs });
  if (rendered !== undefined) {
    const reserve = SIGNATURE_BYTES + (approval === undefined ? 0 : APPROVAL_BYTES);
    await found.of('', () => throwIfTooLarge(request, rendered, reserve));
    const policy = policyOfCluster(cluster, entry, base?.templates?.definition);
    found.add('cluster', await clusterViolations(rendered, policy, now));
  }
  const isWhole = request.sealedValues === undefined && carried === undefined;
  const unchecked =
    valuesToCheck(request, cluster.organization_id, entry, isWhole) ??
    (await rollbackValues(db, cluster, request, base?.templates));
  if (unchecked !== undefined)
    await found.of('/values', async () => await requireValuesFit(deps.valuesChecker, unchecked));
  const diff = rendered && manifestDiff(rendered, base?.standing, await inputsOfStanding(db, cluster, lastRecord));
  const warnings = entry === undefined ? [] : deprecationWarnings(entry.name, entry.deprecation);
  return {
    dryRun: true,
    violations: found.violations,
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(approval === undefined
      ? {}
      : { approval: { required: approval.required, via: isReviewedInGit(cluster) ? 'proposal' : 'approval' } }),
    ...(rendered === undefined ? {} : { manifest: rendered.text }),
    ...(diff === undefined ? {} : { diff }),
  };
}

async function entryOf(
  db: Kysely<Database>,
  { organization_id: organizationId }: ClusterRow,
  { catalogEntry }: IntentRequest,
): Promise<StoredCatalogEntry | undefined> {
  return catalogEntry === undefined ? undefined : await findCatalogEntry(db, organizationId, catalogEntry);
}

/** What the intent that stands is rendered with where that was not kept. */
async function inputsOfStanding(
  db: Kysely<Database>,
  { organization_id: organizationId }: ClusterRow,
  standing: IntentRecord | undefined,
): Promise<RenderInputs> {
  if (standing?.catalogEntry === undefined) return {};
  return renderInputsOf(await findCatalogEntry(db, organizationId, standing.catalogEntry));
}

/** Undefined where something that is needed for it is missing, which is among the violations. */
function rendering(
  record: IntentRecord,
  { id: clusterId, slug, delivery_epoch: deliveryEpoch }: ClusterRow,
  inputs: RenderInputs,
): Rendered | undefined {
  try {
    return renderIntent(record, { clusterId, slug, deliveryEpoch }, inputs);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** What was found so far. A place of which the API says something itself is not told again in the cluster's words. */
class Findings {
  readonly violations: DryRunViolation[] = [];

  add(at: DryRunViolation['at'], more: readonly (Violation & { readonly reason?: Reason })[]): void {
    const told = new Set(this.violations.map(({ path }) => path));
    for (const { code: _code, ...violation } of more) {
      if (at === 'cluster' && told.has(violation.path)) continue;
      this.violations.push({ ...violation, at });
    }
  }

  /** What `work` gives; undefined where it refuses, which is noted, at `path` where it names no place itself. */
  async of<T>(path: string, work: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof AppError) || !OF_INTENT.includes(error.code)) throw error;
      const faults = error.faults.length > 0 ? error.faults : [{ path, message: error.message }];
      this.violations.push(...faults.map((fault) => ({ ...fault, at: 'api' as const })));
      return undefined;
    }
  }
}
