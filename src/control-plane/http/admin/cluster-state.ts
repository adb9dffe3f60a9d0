import type { Kysely } from 'kysely';
import { AppError } from '../../../protocol/app-error.ts';
import { askForRotation, revokeAgentCredentials } from '../../store/agent-credentials.ts';
import { appendAudit } from '../../store/audit.ts';
import type { AuditKind } from '../../store/audit-kinds.ts';
import { changeCluster, expireRegistrationTokens } from '../../store/cluster-admin.ts';
import { raiseConfigRevision } from '../../store/clusters.ts';
import { revokeGitCredentialsOf } from '../../store/git-credentials.ts';
import { lockCluster } from '../../store/lock-cluster.ts';
import { revokePushCredentials } from '../../store/push-credentials.ts';
import type { ClusterRow, Database } from '../../store/schema.ts';
import { configTopic, DELIVERY_TOPIC } from '../../topics.ts';
import { answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { viewCluster } from './cluster-view.ts';
import { issueRegistrationToken } from './create-cluster.ts';
import { bodyMayBeAbsent, ClusterParams, NoBody, requireCluster } from './named-cluster.ts';
import { ClusterAnswer, RegistrationTokenAnswer } from './cluster-answer.ts';

interface StateChange {
  /** In the document of the API. */
  readonly operationId: string;
  readonly title: string;
  readonly auditKind: AuditKind;
  readonly summary: string;
  /** Whether the cluster is in that state already: then nothing is written. */
  readonly isDone: (cluster: ClusterRow) => boolean;
  readonly make: (trx: Kysely<Database>, cluster: ClusterRow, now: Date) => Promise<void>;
}

/** What an admin may do to a cluster as a whole. Its applications go on running in every case. */
const STATE_CHANGES: Readonly<Record<'rotate' | 'revoke' | 'disable' | 'enable', StateChange>> = {
  rotate: {
    operationId: 'rotateCredential',
    title: 'Asks the operator to rotate its credential at its next call',
    auditKind: 'CredentialRotate',
    summary: 'asked for a rotation of its credential at its next call',
    isDone: () => false,
    make: async (trx, { id, slug }, now) => {
      if ((await askForRotation(trx, id, now.toISOString())) > 0) return;
      throw new AppError(
        'conflict',
        `cluster ${slug} has no credential that could be rotated: it never registered, or its credential expired or was revoked; see servicectl clusters recovery-command ${slug}`,
      );
    },
  },
  revoke: {
    operationId: 'revokeCredentials',
    title: 'Revokes all credentials of a cluster; its operator must register again',
    auditKind: 'CredentialRevoked',
    summary:
      'all credentials revoked, that of push mode too; the operator must register again with a new token, and push mode needs another credential',
    isDone: () => false,
    make: async (trx, { id }, now) => {
      await trx.updateTable('clusters').set({ revoked_at: now.toISOString() }).where('id', '=', id).execute();
      await revokeAgentCredentials(trx, id, now.toISOString());
      await revokeGitCredentialsOf(trx, id, now);
      await revokePushCredentials(trx, id, 'all credentials of the cluster were revoked', now.toISOString());
      // A token that is still out would undo the revocation.
      await expireRegistrationTokens(trx, id, now.toISOString());
    },
  },
  disable: {
    operationId: 'disableCluster',
    title: 'Shuts a cluster out: its operator is answered 403 and no intent is taken for it',
    auditKind: 'ClusterDisabled',
    summary: 'disabled; its agent is answered 403 and no intent is taken for it',
    isDone: ({ disabled_at: disabledAt }) => disabledAt !== null,
    make: async (trx, { id }, now) => {
      await changeCluster(trx, id, { disabled_at: now.toISOString() });
      // Enabled again, `/config` hands out a new one.
      await revokeGitCredentialsOf(trx, id, now);
    },
  },
  enable: {
    operationId: 'enableCluster',
    title: 'Lets a disabled cluster in again',
    auditKind: 'ClusterEnabled',
    summary: 'enabled',
    isDone: ({ disabled_at: disabledAt }) => disabledAt === null,
    make: async (trx, { id }) => {
      await changeCluster(trx, id, { disabled_at: null });
    },
  },
};

const issueToken = {
  tags: ['clusters'],
  operationId: 'issueRegistrationToken',
  summary: 'Another registration token, shown once',
  params: ClusterParams,
  body: NoBody,
  response: answers({ 201: RegistrationTokenAnswer }),
};

function changeSchema({ operationId, title }: StateChange) {
  const response = answers({ 200: ClusterAnswer });
  return { tags: ['clusters'], operationId, summary: title, params: ClusterParams, body: NoBody, response };
}

/** `POST /clusters/{id}/registration-token`, `/rotate`, `/revoke`, `/disable`, `/enable`. */
export function clusterStateRoutes(app: HttpServer, deps: AdminDeps): void {
  const first = { schema: issueToken, preValidation: bodyMayBeAbsent };
  app.post('/clusters/:cluster/registration-token', first, async (request, reply) => {
    const { organization, name } = adminOf(request);
    const issued = await deps.store.write(async (trx) => {
      const cluster = await requireCluster(trx, organization.id, request.params.cluster);
      await appendAudit(trx, {
        organizationId: organization.id,
        at: deps.clock.now().toISOString(),
        source: 'user',
        kind: 'RegistrationTokenIssued',
        clusterId: cluster.id,
        actor: name,
        summary: `registration token issued for cluster ${cluster.slug}`,
      });
      return await issueRegistrationToken(trx, deps, cluster.id, name);
    });
    return await reply
      .code(201)
      .send({ registrationToken: issued.token.expose(), registrationTokenExpiresAt: issued.expiresAt });
  });

  for (const [verb, change] of Object.entries(STATE_CHANGES)) {
    const options = { schema: changeSchema(change), preValidation: bodyMayBeAbsent };
    app.post(`/clusters/:cluster/${verb}`, options, async (request, reply) => {
      const { organization, name } = adminOf(request);
      const id = await deps.store.write(async (trx) => {
        const cluster = await requireCluster(trx, organization.id, request.params.cluster);
        if (change.isDone(cluster)) return cluster.id;
        await lockCluster(trx, cluster.id);
        const now = deps.clock.now();
        await change.make(trx, cluster, now);
        await raiseConfigRevision(trx, cluster.id);
        await appendAudit(trx, {
          organizationId: organization.id,
          at: now.toISOString(),
          source: 'user',
          kind: change.auditKind,
          clusterId: cluster.id,
          actor: name,
          summary: `cluster ${cluster.slug}: ${change.summary}`,
        });
        return cluster.id;
      });
      // A held request of the agent looks at its credential again.
      deps.wakeups.notify(configTopic(id));
      // Enabled again, what waits for it need not wait for the next look.
      deps.wakeups.notify(DELIVERY_TOPIC);
      const row = await requireCluster(deps.store.db, organization.id, id);
      return await reply.send(await viewCluster(deps, row, organization.name));
    });
  }
}
