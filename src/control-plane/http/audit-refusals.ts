import type { FastifyReply, FastifyRequest } from 'fastify';
import { isClusterId } from '../../protocol/ids.ts';
import { hashToken, isWellFormedToken } from '../../protocol/token.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { RefusalAudit } from '../refusal-audit.ts';
import { ownerOfCredential, ownerOfId } from '../store/refusal-owners.ts';
import type { Store } from '../store/open-store.ts';
import type { HttpServer } from './server.ts';

export interface AuditRefusalsDeps {
  readonly store: Pick<Store, 'db'>;
  readonly refusals: RefusalAudit;
}

/** What is said of a token of ours that was presented where it is not good. */
const MISPLACED = {
  svcreg: { kind: 'RegistrationTokenMisused', of: 'a registration token of this cluster' },
  svcagt: { kind: 'AgentCredentialMisused', of: "this cluster's agent credential" },
  svcadm: { kind: 'AdminTokenMisused', of: 'an admin token of this organization' },
} as const;
type TokenKind = keyof typeof MISPLACED;

/**
 * Audits, before a refusal is answered, what only an attack or a leak explains: a token that is ours and valid for something
 * else, and, from an admin, an id that another organization has. Both are audited where they belong: with the cluster or
 * organization that is meant. Guesses and typing errors are not: they name nothing.
 */
export function auditRefusals(scope: HttpServer, deps: AuditRefusalsDeps): void {
  scope.addHook('onSend', async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    try {
      if (reply.statusCode === 401) await auditMisplacedToken(deps, request);
      if (reply.statusCode === 404) await auditForeignId(deps, request);
    } catch (error) {
      // The refusal stands whether it could be written down or not.
      (request.log as Logger).warn({ err: error, requestId: request.id }, 'a refusal could not be audited');
    }
    return payload;
  });
}

async function auditMisplacedToken(deps: AuditRefusalsDeps, request: FastifyRequest): Promise<void> {
  const [, text = ''] = /^Bearer +(\S{1,512})$/i.exec(request.headers.authorization?.trim() ?? '') ?? [];
  const kind = (Object.keys(MISPLACED) as TokenKind[]).find((prefix) => isWellFormedToken(prefix, text));
  // Refused in its own place, a token is expired, revoked or unsigned: that is told to its owner by other means.
  if (kind === undefined || kind === (request.url.startsWith('/api/agent') ? 'svcagt' : 'svcadm')) return;
  const owner = await ownerOfCredential(deps.store.db, kind, hashToken(text));
  if (owner === undefined) return;
  const { kind: entry, of } = MISPLACED[kind];
  const where = `${request.method} ${request.routeOptions.url ?? ''}`;
  await deps.refusals.record(owner, {
    kind: entry,
    summary: `${of} was presented at ${where}, where it is not good`,
    reason: 'invalid_token',
    ...(kind === 'svcadm' ? { source: 'user' } : {}),
  });
}

/** Parameters of routes that name what a cluster has. */
const OF_CLUSTERS = [
  ['intent', 'intents'],
  ['job', 'jobs'],
  ['approval', 'approvals'],
  ['proposal', 'proposals'],
] as const;

async function auditForeignId(deps: AuditRefusalsDeps, request: FastifyRequest): Promise<void> {
  if (request.admin === null || request.admin === undefined) return;
  const named = request.params as Readonly<Record<string, string | undefined>>;
  const query = request.query as Readonly<Record<string, unknown>>;
  const cluster = named['cluster'] ?? (typeof query['cluster'] === 'string' ? query['cluster'] : undefined);
  const isOfCluster = cluster !== undefined && isClusterId(cluster);
  let owner = isOfCluster ? await ownerOfId(deps.store.db, 'clusters', cluster) : undefined;
  for (const [parameter, table] of OF_CLUSTERS) {
    const id = named[parameter];
    if (id !== undefined && !isOfCluster) owner = await ownerOfId(deps.store.db, table, id);
  }
  if (owner === undefined || owner.organization_id === request.admin.organization.id) return;
  await deps.refusals.record(owner, {
    kind: 'OrganizationMismatch',
    summary: `an admin of another organization called ${request.method} ${request.routeOptions.url ?? ''} with an id of this cluster`,
    reason: 'not_found',
    source: 'user',
  });
}
