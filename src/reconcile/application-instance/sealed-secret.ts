import { KubeError } from '../../kube/cluster-api.ts';
import type { KubeObject, ObjectRef } from '../../resources/kube-object.ts';
import type { Secret } from '../../runtime/secret.ts';
import { isForbiddenByRbac } from '../../kube/read-failure.ts';
import type { InstancePass } from './instance-pass.ts';
import { ownedMeta, RELEASE_FIELD_MANAGER } from './owned-meta.ts';

/** On the HelmRelease: UID of the Secret with the opened values that it reads, so that no other is ever deleted. */
export const SEALED_SECRET_ANNOTATION = 'app.service.io/sealed-values-secret';

export type WrittenSecret =
  | { readonly state: 'written'; readonly uid: string }
  /** Somebody else's Secret has the name. */
  | { readonly state: 'foreign' };

type Owner = { readonly state: 'absent' | 'foreign' } | { readonly state: 'ours'; readonly uid: string };

export function sealedSecretRef({ instance }: Pick<InstancePass, 'instance'>): ObjectRef {
  const { name, namespace = '' } = instance.metadata;
  return { apiVersion: 'v1', kind: 'Secret', namespace, name: `${name}-sealed-values` };
}

/**
 * Writes the opened values into the Secret `<name>-sealed-values`. The operator may not read Secrets in this namespace
 * (decisions, "Custom resources"): whose it is, is told by who owns its data.
 *
 * @param uid of the Secret as it was written before
 * @throws KubeError
 */
export async function writeSealedSecret(
  pass: InstancePass,
  valuesKey: string,
  values: Secret,
  uid: string | undefined,
): Promise<WrittenSecret> {
  if (uid === undefined && (await ownerOf(pass)).state === 'foreign') return { state: 'foreign' };
  const bare = bareSecret(pass);
  const data = { [valuesKey]: Buffer.from(values.expose(), 'utf8').toString('base64') };
  const metadata = uid === undefined ? bare.metadata : { ...bare.metadata, uid };
  try {
    const written = await pass.deps.api.apply({ ...bare, metadata, type: 'Opaque', data }, OPTIONS, pass.signal);
    return { state: 'written', uid: written.object.metadata.uid ?? '' };
  } catch (error) {
    // It was deleted or made anew since: look whose it is now.
    const isGone = error instanceof KubeError && (error.status === 409 || error.status === 404);
    if (uid === undefined || !isGone) throw withoutWords(error, bare);
    return await writeSealedSecret(pass, valuesKey, values, undefined);
  }
}

/** Deletes the Secret, if it is ours. Nothing happens where it is gone. @throws KubeError */
export async function deleteSealedSecret(pass: InstancePass, known: string | undefined): Promise<void> {
  const owner: Owner = known === undefined ? await ownerOf(pass) : { state: 'ours', uid: known };
  if (owner.state !== 'ours') return;
  try {
    await pass.deps.api.delete(sealedSecretRef(pass), { uid: owner.uid }, pass.signal);
  } catch (error) {
    // Another incarnation has the name: it is not the one that was written here.
    if (!(error instanceof KubeError) || error.status !== 409) throw error;
  }
}

/** Whoever refuses a Secret may quote it, and what is thrown here ends in conditions, events and logs. */
function withoutWords(error: unknown, { metadata }: KubeObject): unknown {
  if (!(error instanceof KubeError) || error.status === 0 || isForbiddenByRbac(error)) return error;
  const { status, reason, retryAfterSeconds } = error;
  const words = `Secret ${metadata.namespace ?? ''}/${metadata.name} is not taken; why is left out here, as it could quote what is in it`;
  return new KubeError(words, { status, reason, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) });
}

const OPTIONS = { fieldManager: RELEASE_FIELD_MANAGER, force: true } as const;

/** A dry run answers with the object as it would be, with everybody who owns a part of it. */
async function ownerOf(pass: InstancePass): Promise<Owner> {
  const { object, created } = await pass.deps.api.apply(bareSecret(pass), { ...OPTIONS, dryRun: true }, pass.signal);
  const { uid, managedFields = [] } = object.metadata;
  if (created || uid === undefined) return { state: 'absent' };
  const others = managedFields.filter(
    ({ manager, fieldsV1 }) => manager !== RELEASE_FIELD_MANAGER && ownsData(fieldsV1),
  );
  return others.length > 0 ? { state: 'foreign' } : { state: 'ours', uid };
}

function ownsData(fields: Readonly<Record<string, unknown>> | undefined): boolean {
  return fields !== undefined && ('f:data' in fields || 'f:stringData' in fields);
}

function bareSecret(pass: InstancePass): KubeObject {
  const { apiVersion, kind, name } = sealedSecretRef(pass);
  return { apiVersion, kind, metadata: { ...ownedMeta(pass.instance, pass.policy.clusterId), name } };
}
