import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { checkManifest } from '../../intent/manifest.ts';
import { IntentRecord } from '../../intent/intent-record.ts';
import { renderIntent } from '../../intent/render.ts';
import { MAX_MANIFEST_BYTES, type Tombstone } from '../../intent/rendered.ts';
import type { ProjectedCatalogEntry } from '../../protocol/agent-config.ts';
import { AppError } from '../../protocol/app-error.ts';
import { DeletePayload, PayloadSource, type Job } from '../../protocol/job.ts';
import { compileParser } from '../../protocol/parse.ts';
import { INTENT_ID_PATTERN } from '../../resources/intent-ids.ts';
import { refOf, type KubeObject, type ObjectRef } from '../../resources/kube-object.ts';
import { INTENT_ID_ANNOTATION, SOURCE_ANNOTATION } from '../../resources/labels.ts';
import { withSignature } from '../../resources/signed-object.ts';
import { formatSource, parseSource, type SourcePair } from '../../resources/source-annotation.ts';
import type { DesiredItem, Removal } from '../delivery.ts';
import { openPayload, type PayloadRefusal, type PayloadSecurity } from './job-payload.ts';

/** What a job is read against: the projection of the cluster's record. */
export interface JobSurroundings extends PayloadSecurity {
  readonly deliveryEpoch: number;
  /** False: the control plane tells no configuration, so there is no epoch to go by. */
  readonly isProjected?: boolean;
  readonly catalogEntries: readonly ProjectedCatalogEntry[];
}

/** Which object a job is about, and its place in the order of deliveries. */
export interface JobSubject {
  readonly ref: ObjectRef;
  readonly pair: SourcePair;
}

/** What a job asks for; its key in the desired set is the job's id. */
export type JobReading =
  | { readonly kind: 'object'; readonly item: DesiredItem; readonly subject: JobSubject; readonly isSigned: boolean }
  | { readonly kind: 'removal'; readonly removal: Removal; readonly subject: JobSubject; readonly isSigned: boolean }
  | { readonly kind: 'refused'; readonly refusal: PayloadRefusal };

type Payload = Readonly<Record<string, unknown>>;

/** The record, what of the rendered object the control plane alone can say (its signature, or its uid), and its order. */
const IntentPayload = Type.Object({
  ...IntentRecord.properties,
  objectSignature: Type.Optional(Type.String({ maxLength: 8192 })),
  approval: Type.Optional(
    Type.Object({
      required: Type.Literal(true),
      statement: Type.Optional(Type.String({ maxLength: 8192 })),
    }),
  ),
  objectUid: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  source: Type.Optional(PayloadSource),
});
const parseIntent = compileParser(IntentPayload);
const parseReference = compileParser(DeletePayload);
const intentId = new RegExp(INTENT_ID_PATTERN);

/** Reads one job, whoever made it. What is wrong with it is an answer; a throw is a bug. */
export async function readJob(job: Job, surroundings: JobSurroundings): Promise<JobReading> {
  const opened = await openPayload(job, surroundings);
  if (!opened.ok) return { kind: 'refused', refusal: opened.refusal };
  const { payload, isSigned } = opened;
  const bytes = Buffer.byteLength(JSON.stringify(payload), 'utf8');
  if (bytes > MAX_MANIFEST_BYTES) {
    return refuse(`the payload is ${bytes} bytes; at most ${MAX_MANIFEST_BYTES} bytes (512 KiB) are taken`);
  }
  if (surroundings.requireEncryptedSecretPayloads && job.encryptedPayload === undefined && holdsValues(job, payload)) {
    return refuse(
      'the payload holds chart values in the clear, and this cluster requires them encrypted (requireEncryptedSecretPayloads)',
    );
  }
  try {
    const read = READERS[job.kind](job, payload, surroundings);
    if (read.kind === 'refused') return read;
    return orderIsRefused(job, read.subject.pair, surroundings) ?? { ...read, isSigned };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return refuse(`the payload is not taken: ${error.message}`);
  }
}

type Read =
  | Omit<Extract<JobReading, { kind: 'object' }>, 'isSigned'>
  | Omit<Extract<JobReading, { kind: 'removal' }>, 'isSigned'>
  | Extract<JobReading, { kind: 'refused' }>;

/** @throws AppError for a payload that is not of the kind's shape */
const READERS: Readonly<Record<Job['kind'], (job: Job, payload: Payload, around: JobSurroundings) => Read>> = {
  apply: (job, payload, around) => {
    const checked = checkManifest(payload, 'payload');
    if (!checked.ok) return refuse(checked.message);
    return readObject(job, checked.object, pairOf(job, around));
  },
  delete: (job, payload, around) => {
    const { apiVersion, kind, namespace, name, uid, source } = parseReference(payload);
    const pair = parseSource(source) ?? pairOf(job, around);
    return readRemoval(job, {
      apiVersion,
      kind,
      namespace,
      name,
      ...(uid === undefined ? {} : { uid }),
      intentId: intentIdOf(job),
      ...pair,
      time: job.createdAt,
    });
  },
  intent: (job, payload, around) => {
    const record = parseIntent(payload);
    const entry = around.catalogEntries.find((candidate) => candidate.entry === record.catalogEntry);
    const needsChart = record.action === 'install' || record.action === 'update';
    if (needsChart && entry === undefined) {
      return refuse(
        `catalog entry ${record.catalogEntry ?? '(none)'} is not allowed for this cluster; allowed: ${
          around.catalogEntries.map((candidate) => candidate.entry).join(', ') || 'none'
        }`,
      );
    }
    const target = {
      clusterId: around.clusterId,
      // Names a directory in Git; nothing of what is rendered holds it.
      slug: '',
      deliveryEpoch: parseSource(record.source)?.epoch ?? job.deliveryEpoch ?? around.deliveryEpoch,
    };
    const { objectSignature, objectUid, approval, source: _source, ...intent } = record;
    if (_source !== undefined && parseSource(_source)?.generation !== record.generation) {
      return refuse(`the payload is of generation ${record.generation} and its source is ${_source}`);
    }
    const rendered = renderIntent(intent, target, {
      ...(entry === undefined ? {} : { chart: entry.chart }),
      ...(objectUid === undefined ? {} : { uid: objectUid }),
      ...(approval === undefined ? {} : { approval }),
    });
    if (rendered.kind === 'delete') return readRemoval(job, rendered.tombstone);
    const object = objectSignature === undefined ? rendered.object : withSignature(rendered.object, objectSignature);
    return readObject(job, object, { epoch: target.deliveryEpoch, generation: record.generation });
  },
};

/** Another control plane may leave the order to the job alone; the annotation counts where there is one. */
function readObject({ id, intentId: ofJob }: Job, object: KubeObject, order: SourcePair): Read {
  const { annotations = {} } = object.metadata;
  const pair = parseSource(annotations[SOURCE_ANNOTATION]) ?? order;
  const missing = {
    [SOURCE_ANNOTATION]: formatSource(pair),
    ...(ofJob === undefined ? {} : { [INTENT_ID_ANNOTATION]: ofJob }),
  };
  // In this order: what is there keeps its place, so that a whole manifest stays the same to the byte.
  const metadata = { ...object.metadata, annotations: { ...annotations, ...missing, ...annotations } };
  return { kind: 'object', item: { key: id, object: { ...object, metadata } }, subject: { ref: refOf(object), pair } };
}

function readRemoval({ id }: Job, tombstone: Tombstone): Read {
  const { apiVersion, kind, namespace, name, epoch, generation } = tombstone;
  const subject = { ref: { apiVersion, kind, namespace, name }, pair: { epoch, generation } };
  return { kind: 'removal', removal: { key: id, tombstone }, subject };
}

/** The generation in the key is under the signature, the member beside it is not. */
function pairOf(job: Job, { deliveryEpoch }: JobSurroundings): SourcePair {
  return { epoch: job.deliveryEpoch ?? deliveryEpoch, generation: generationInKey(job) ?? job.generation ?? 0 };
}

function generationInKey({ idempotencyKey }: Job): number | undefined {
  const inKey = /@(\d{1,15})$/.exec(idempotencyKey)?.[1];
  return inKey === undefined ? undefined : Number(inKey);
}

/**
 * Whoever may change a job on its way, but not sign it, could send an old one again as the newest. So what stands beside
 * the signed payload has to say the same as what is in it, and no epoch is taken that the configuration does not name.
 */
function orderIsRefused(
  job: Job,
  { epoch, generation }: SourcePair,
  around: JobSurroundings,
): Extract<Read, { kind: 'refused' }> | undefined {
  const inKey = job.kind === 'intent' ? undefined : generationInKey(job);
  const said: readonly (readonly [string, number | undefined, number])[] = [
    ['deliveryEpoch', job.deliveryEpoch, epoch],
    ['generation', job.generation, generation],
    ['idempotencyKey', inKey, generation],
  ];
  const other = said.find(([, given, expected]) => given !== undefined && given !== expected);
  if (other !== undefined) {
    const [member, given] = other;
    return refuse(`the payload is of ${epoch}.${generation}, and the job's ${member} says ${given}`);
  }
  if (around.isProjected === false || epoch <= around.deliveryEpoch) return undefined;
  const message = `the job is of delivery epoch ${epoch}; the control plane's configuration says ${around.deliveryEpoch}`;
  return { kind: 'refused', refusal: { message, isAhead: true } };
}

/** What stands in annotations and events for a job that names no intent. */
function intentIdOf({ id, intentId: named }: Job): string {
  if (named !== undefined) return named;
  return intentId.test(id) ? id : createHash('sha256').update(id).digest('hex');
}

function holdsValues({ kind }: Job, payload: Payload): boolean {
  const spec = payload['spec'];
  const values =
    kind === 'intent'
      ? payload['values']
      : typeof spec === 'object' && spec !== null && 'values' in spec
        ? spec.values
        : undefined;
  return typeof values === 'object' && values !== null && Object.keys(values).length > 0;
}

function refuse(message: string): Extract<JobReading, { kind: 'refused' }> {
  return { kind: 'refused', refusal: { message } };
}
