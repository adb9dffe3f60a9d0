import { raiseConfigRevision } from '../../store/clusters.ts';
import { appendAudit } from '../../store/audit.ts';
import { acceptRemovals, changeCluster, type ClusterChange } from '../../store/cluster-admin.ts';
import { labelsOf, labelsText, putClusterLabels } from '../../store/cluster-labels.ts';
import type { ClusterRow } from '../../store/schema.ts';
import { changeLabels } from '../../cluster-label-change.ts';
import { securityOf } from '../../cluster-settings.ts';
import {
  effectiveIntervals,
  findSettings,
  ownIntervalsOf,
  type OrganizationSettings,
} from '../../organization-settings.ts';
import { configTopic, PROPOSALS_TOPIC } from '../../topics.ts';
import { answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ChangedClusterAnswer, ClusterAnswer, CreatedClusterAnswer } from './cluster-answer.ts';
import { CreateCluster, PatchCluster } from './cluster-schemas.ts';
import { viewCluster } from './cluster-view.ts';
import { editableOf } from './cluster-tag.ts';
import { createCluster, type CreatedCluster } from './create-cluster.ts';
import { NotModified, requireMatch, sendTagged } from './entity-tag.ts';
import { refuseUnseenCertificate } from './client-authority.ts';
import { refuseFixedFields } from './fixed-fields.ts';
import { gitSettingsOf } from '../../git/git-settings.ts';
import { changeGitSettings, gitSettingsText, refuseWithoutGit } from './git-change.ts';
import { changeIntervals } from './intervals-change.ts';
import { ClusterParams, requireCluster } from './named-cluster.ts';
import { refuseOperatorVersion } from './operator-version.ts';
import { requireProjectable, unknownTemplateWarnings } from '../../projected-templates.ts';

const create = {
  tags: ['clusters'],
  operationId: 'createCluster',
  summary: 'Makes a cluster, which is Pending until its operator registers',
  body: CreateCluster,
  response: answers({ 201: CreatedClusterAnswer }),
};
const show = {
  tags: ['clusters'],
  operationId: 'getCluster',
  summary: 'One cluster, by id or slug',
  params: ClusterParams,
  response: answers({ 200: ClusterAnswer, 304: NotModified }),
};
const patch = {
  tags: ['clusters'],
  operationId: 'updateCluster',
  summary: 'Changes what is named of a cluster',
  params: ClusterParams,
  body: PatchCluster,
  response: answers({ 200: ChangedClusterAnswer }),
};

/** `POST /clusters`; `GET`, `PATCH /clusters/{id}`. */
export function clusterRoutes(app: HttpServer, deps: AdminDeps): void {
  app.post('/clusters', { schema: create }, async (request, reply) => {
    const admin = adminOf(request);
    const created = await createCluster(deps, admin, request.body);
    const { row, registration } = created;
    const { id: organizationId } = admin.organization;
    const named = request.body.allowedOperationTemplates;
    const warnings = [...warningsOf(created), ...(await unknownTemplateWarnings(deps.store.db, organizationId, named))];
    return await reply.code(201).send({
      cluster: await viewCluster(deps, row, admin.organization.name),
      registrationToken: registration.token.expose(),
      registrationTokenExpiresAt: registration.expiresAt,
      ...(warnings.length === 0 ? {} : { warnings }),
    });
  });

  app.get('/clusters/:cluster', { schema: show }, async (request, reply) => {
    const { organization } = adminOf(request);
    const row = await requireCluster(deps.store.db, organization.id, request.params.cluster);
    const answer = await viewCluster(deps, row, organization.name);
    return await sendTagged(request, reply, { editable: editableOf(row), answer });
  });

  app.patch('/clusters/:cluster', { schema: patch, preValidation: refuseFixedFields }, async (request, reply) => {
    const { organization, name } = adminOf(request);
    refuseOperatorVersion(request.body.operatorVersion);
    const { id, changed } = await deps.store.write(async (trx) => {
      const row = await requireCluster(trx, organization.id, request.params.cluster);
      requireMatch(request, editableOf(row), `cluster ${row.slug}`);
      if (request.body.git !== undefined) refuseWithoutGit(row);
      const named = request.body.allowedOperationTemplates;
      if (named !== undefined) await requireProjectable(trx, organization.id, named);
      const change = changeOf(row, request.body, await findSettings(trx, organization.id));
      const fields = new Set(Object.keys(change).map((column) => column.replace('own_', '')));
      if (Object.keys(change).length === 0) return { id: row.id, changed: false };
      if (change.require_client_certificate === 1) await refuseUnseenCertificate(trx, row);
      await changeCluster(trx, row.id, change);
      if (change.labels !== undefined) await putClusterLabels(trx, row, labelsOf({ labels: change.labels }));
      await raiseConfigRevision(trx, row.id);
      await appendAudit(trx, {
        organizationId: organization.id,
        at: deps.clock.now().toISOString(),
        source: 'user',
        kind: 'ClusterUpdated',
        clusterId: row.id,
        actor: name,
        summary: `cluster ${row.slug} updated: ${[...fields].map((field) => field.replaceAll('_', ' ')).join(', ')}`,
      });
      if (change.desired_operator_version !== undefined) {
        await appendAudit(trx, {
          organizationId: organization.id,
          at: deps.clock.now().toISOString(),
          source: 'user',
          kind: 'OperatorVersionSet',
          clusterId: row.id,
          actor: name,
          summary: `cluster ${row.slug}: operator to run ${change.desired_operator_version ?? 'whatever it runs'}, was ${row.desired_operator_version ?? 'not said'}`,
        });
      }
      if (change.security !== undefined) {
        await appendAudit(trx, {
          organizationId: organization.id,
          at: deps.clock.now().toISOString(),
          source: 'user',
          kind: 'SecurityChanged',
          clusterId: row.id,
          actor: name,
          summary: `cluster ${row.slug}: ${securityText(change.security)}; was: ${securityText(row.security)}`,
        });
      }
      if (change.git_settings !== undefined) {
        if (!gitSettingsOf({ git_settings: change.git_settings }).pruneOnRemoval)
          await acceptRemovals(trx, row.id, null);
        await appendAudit(trx, {
          organizationId: organization.id,
          at: deps.clock.now().toISOString(),
          source: 'user',
          kind: 'GitSettingsChanged',
          clusterId: row.id,
          actor: name,
          summary: `cluster ${row.slug}: ${gitSettingsText(change.git_settings)}; was: ${gitSettingsText(row.git_settings)}`,
        });
      }
      return { id: row.id, changed: true };
    });
    if (changed) {
      deps.wakeups.notify(configTopic(id));
      // Other approvals may be asked for now.
      deps.wakeups.notify(PROPOSALS_TOPIC);
    }
    const row = await requireCluster(deps.store.db, organization.id, id);
    const named = request.body.allowedOperationTemplates ?? [];
    const warnings = await unknownTemplateWarnings(deps.store.db, organization.id, named);
    const view = await viewCluster(deps, row, organization.name);
    const answer = warnings.length === 0 ? view : { ...view, warnings };
    return await sendTagged(request, reply, { editable: editableOf(row), answer });
  });
}

/** What is taken and does not do yet what its name says. */
function warningsOf({ row, madeRepository: made, hasPushCredential }: CreatedCluster): string[] {
  const warnings: string[] = [];
  if (row.connectivity_mode === 'push') {
    warnings.push(
      hasPushCredential
        ? `push.kubeconfig was not tried: nothing is written by it before the operator of ${row.slug} has registered, which shows that it is its API server`
        : `push mode has no credential for this cluster: intents are accepted and wait until it is given one (servicectl clusters push-credential ${row.slug} --kubeconfig FILE)`,
    );
  }
  if (made !== undefined) {
    warnings.push(
      `git.repository: there was no repository ${made}, so it was made on the control plane's own Git host. If another ` +
        `was meant, delete this cluster and then the repository (servicectl repositories delete ${made}), and create ` +
        'the cluster under another slug',
    );
  }
  return warnings;
}

function securityText(json: string): string {
  const required = Object.entries(securityOf({ security: json })).flatMap(([name, isOn]) => (isOn ? [name] : []));
  return required.length === 0 ? 'nothing required of payloads' : required.join(', ');
}

/** The columns that really change: saying again what is there already is not a change. */
function changeOf(row: ClusterRow, body: PatchCluster, settings: OrganizationSettings): ClusterChange {
  const json = (value: unknown): string | undefined => (value === undefined ? undefined : JSON.stringify(value));
  const wanted: Record<keyof ClusterChange, string | number | null | undefined> = {
    display_name: body.displayName,
    labels: body.labels === undefined ? undefined : labelsText(changeLabels(labelsOf(row), body.labels)),
    allowed_namespaces: json(body.allowedNamespaces),
    allowed_catalog_entries: json(body.allowedCatalogEntries),
    allowed_operation_templates: json(body.allowedOperationTemplates),
    approval_namespaces: namespacesChange(row, body.approvalNamespaces),
    ...changeOfIntervals(row, body, settings),
    security: body.security === undefined ? undefined : json({ ...securityOf(row), ...body.security }),
    git_settings: body.git === undefined ? undefined : changeGitSettings(row.git_settings, body.git),
    require_client_certificate:
      body.requireClientCertificate === undefined ? undefined : Number(body.requireClientCertificate),
    deliver_intents: body.deliverIntents === undefined ? undefined : Number(body.deliverIntents),
    desired_operator_version: body.operatorVersion,
    disabled_at: undefined,
  };
  return Object.fromEntries(
    Object.entries(wanted).filter(
      ([column, value]) => value !== undefined && value !== row[column as keyof ClusterChange],
    ),
  );
}

/** None is stored as none, whichever way it is said. */
function namespacesChange(row: ClusterRow, wanted: readonly string[] | undefined): string | null | undefined {
  if (wanted === undefined) return undefined;
  const text = wanted.length === 0 ? null : JSON.stringify(wanted);
  return text === row.approval_namespaces ? undefined : text;
}

/** What was set on the cluster, and what holds for it: its organization's where it sets nothing. */
function changeOfIntervals(
  row: ClusterRow,
  { intervals: change }: PatchCluster,
  settings: OrganizationSettings,
): { intervals: string | undefined; own_intervals: string | undefined } {
  if (change === undefined) return { intervals: undefined, own_intervals: undefined };
  const own = change === null ? {} : changeIntervals(ownIntervalsOf(row), change);
  const text = JSON.stringify(own);
  return {
    intervals: JSON.stringify(effectiveIntervals(settings, own)),
    own_intervals: text === (row.own_intervals ?? '{}') ? undefined : text,
  };
}
