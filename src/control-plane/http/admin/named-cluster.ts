import type { Kysely } from 'kysely';
import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { findClusterNamed, findDeletedCluster } from '../../store/cluster-admin.ts';
import type { ClusterRow, Database } from '../../store/schema.ts';

/** Path parameters of everything below one cluster: its id, or its slug. */
export const ClusterParams = Type.Object({ cluster: Type.String({ minLength: 1, maxLength: 64 }) });

/** A body that says nothing: what is sent anyway is refused by name. */
export const NoBody = Type.Object({}, { additionalProperties: false });

/** Lets a request with `NoBody` come without one. A body `null` was sent and is refused like any other that is no object. */
export async function bodyMayBeAbsent(request: { body: unknown }): Promise<void> {
  if (request.body === undefined) request.body = {};
}

/** @throws AppError `not_found`, also for a cluster of another organization */
export async function requireCluster(
  db: Kysely<Database>,
  organizationId: string,
  idOrSlug: string,
): Promise<ClusterRow> {
  const cluster = await findClusterNamed(db, organizationId, idOrSlug);
  if (cluster === undefined) throw new AppError('not_found', `there is no cluster ${idOrSlug}`);
  return cluster;
}

/**
 * The id of a cluster by its id or slug, one that was deleted included: what was written of a cluster outlives it.
 *
 * @throws AppError `not_found`
 */
export async function requireClusterId(
  db: Kysely<Database>,
  organizationId: string,
  idOrSlug: string,
): Promise<string> {
  const deleted = await findDeletedCluster(db, organizationId, idOrSlug);
  return (deleted ?? (await requireCluster(db, organizationId, idOrSlug))).id;
}
