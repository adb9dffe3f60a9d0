import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { cancelSwitch } from '../../modes/cancel-switch.ts';
import { planSwitch, type AskedSwitch } from '../../modes/plan-switch.ts';
import {
  readWish,
  refuseImpossible,
  requestSwitch,
  sameSwitchUnderWay,
  type SwitchWish,
} from '../../modes/request-switch.ts';
import { findSwitchOf, switchPage } from '../../modes/switch-pages.ts';
import type { AdminIdentity } from '../../store/admin-tokens.ts';
import type { ClusterRow, ModeSwitchRow } from '../../store/schema.ts';
import { MODES_TOPIC } from '../../topics.ts';
import { changeGitSettings } from './git-change.ts';
import { answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { connectionConditions } from './connection-condition.ts';
import { SwitchMode } from './mode-schemas.ts';
import { bodyMayBeAbsent, ClusterParams, NoBody, requireCluster } from './named-cluster.ts';
import { answerPage, PageQuery, readPage } from './page.ts';
import { SwitchAnswer, viewSwitch, viewSwitches, type SwitchView } from './switch-view.ts';
import { PlannedSwitchAnswer, StartedSwitchAnswer, SwitchPageAnswer } from './mode-answers.ts';

const SwitchParams = Type.Object({
  ...ClusterParams.properties,
  switch: Type.String({ minLength: 1, maxLength: 64 }),
});

const start = {
  tags: ['modes'],
  operationId: 'switchMode',
  summary: 'Moves a cluster to another mode; with dryRun says what that would do',
  params: ClusterParams,
  body: SwitchMode,
  response: answers({ 200: PlannedSwitchAnswer, 202: StartedSwitchAnswer }),
};
const list = {
  tags: ['modes'],
  operationId: 'listModeSwitches',
  summary: 'Switches of mode of a cluster, the newest first',
  params: ClusterParams,
  querystring: PageQuery,
  response: answers({ 200: SwitchPageAnswer }),
};
const show = {
  tags: ['modes'],
  operationId: 'getModeSwitch',
  summary: 'One switch of mode',
  params: SwitchParams,
  response: answers({ 200: SwitchAnswer }),
};
const cancel = {
  tags: ['modes'],
  operationId: 'cancelModeSwitch',
  summary: 'Rolls a switch of mode back',
  params: SwitchParams,
  body: NoBody,
  response: answers({ 202: SwitchAnswer }),
};

/** `POST /clusters/{id}/mode`; `GET /clusters/{id}/mode-switches`, `/mode-switches/{id}`; `POST …/{id}/cancel`. */
export function modeRoutes(app: HttpServer, deps: AdminDeps): void {
  const { store } = deps;
  const view = async (cluster: ClusterRow, row: ModeSwitchRow): Promise<SwitchView> =>
    await viewSwitch(viewDeps(deps), cluster, row);

  app.post('/clusters/:cluster/mode', { schema: start }, async (request, reply) => {
    const admin = adminOf(request);
    const { dryRun, ...wish } = request.body;
    const cluster = await requireCluster(store.db, admin.organization.id, request.params.cluster);
    const same = await sameSwitchUnderWay(store.db, cluster, wish);
    if (same !== undefined && dryRun === true) {
      const message = `cluster ${cluster.slug} is being switched to ${same.to_mode} by ${same.id} (${same.state}) already`;
      throw new AppError('conflict', message, { extra: { switchId: same.id } });
    }
    if (same !== undefined) {
      return await reply.code(202).send({ switch: await view(cluster, same), warnings: [underWay(same, wish)] });
    }
    const asked = await readWish(store.db, admin, cluster, wish, deps.clock.now());
    if (asked.review !== undefined) changeGitSettings(cluster.git_settings, { review: asked.review });
    if (dryRun === true) {
      const planned = await tryOut(deps, admin, asked, app.closing);
      return await reply.send({ switch: planned, ...listed(repositoryToMake(asked)) });
    }
    const { row, isNew, madeRepository: made } = await requestSwitch(deps, admin, asked);
    const warnings = [
      ...(isNew ? [] : [underWay(row, wish)]),
      ...(made === undefined
        ? []
        : [`git.repository: there was no repository ${made}, so it was made on the control plane's own Git host`]),
    ];
    return await reply.code(202).send({ switch: await view(cluster, row), ...listed(warnings) });
  });

  app.get('/clusters/:cluster/mode-switches', { schema: list }, async (request, reply) => {
    const cluster = await requireCluster(store.db, adminOf(request).organization.id, request.params.cluster);
    const page = readPage(request.query, 'ss');
    const before = page.after === undefined ? undefined : ([String(page.after[0]), String(page.after[1])] as const);
    const { items, ...rest } = await answerPage(
      page,
      async (limit) => await switchPage(store.db, cluster.id, { limit, before }),
      (row) => [row.requested_at, row.id],
      (row) => row,
    );
    return await reply.send({ items: await viewSwitches(viewDeps(deps), cluster, items), ...rest });
  });

  app.get('/clusters/:cluster/mode-switches/:switch', { schema: show }, async (request, reply) => {
    const cluster = await requireCluster(store.db, adminOf(request).organization.id, request.params.cluster);
    return await reply.send(await view(cluster, await requireSwitch(deps, cluster, request.params.switch)));
  });

  const cancelling = { schema: cancel, preValidation: bodyMayBeAbsent };
  app.post('/clusters/:cluster/mode-switches/:switch/cancel', cancelling, async (request, reply) => {
    const { organization, name } = adminOf(request);
    const cluster = await requireCluster(store.db, organization.id, request.params.cluster);
    const { id } = await requireSwitch(deps, cluster, request.params.switch);
    const at = deps.clock.now().toISOString();
    const row = await store.write(async (trx) => await cancelSwitch(trx, { switchId: id, cancelledBy: name, at }));
    deps.wakeups.notify(MODES_TOPIC);
    return await reply.code(202).send(await view(cluster, row));
  });
}

async function requireSwitch(deps: AdminDeps, cluster: ClusterRow, id: string): Promise<ModeSwitchRow> {
  const row = await findSwitchOf(deps.store.db, cluster.id, id);
  if (row === undefined) throw new AppError('not_found', `cluster ${cluster.slug} has no switch of mode ${id}`);
  return row;
}

function listed(warnings: readonly string[]): { readonly warnings?: readonly string[] } {
  return warnings.length === 0 ? {} : { warnings };
}

/** A mistyped name would be made. */
function repositoryToMake({ repository }: AskedSwitch): string[] {
  if (repository === undefined || !('newName' in repository)) return [];
  const made = "it would be made on the control plane's own Git host";
  return [`git.repository: there is no repository ${repository.newName}; ${made}`];
}

/** Of a repeated request, which changes nothing of the switch that is under way. */
function underWay(row: ModeSwitchRow, { push, git }: SwitchWish): string {
  const given = [...(push === undefined ? [] : ['kubeconfig']), ...(git === undefined ? [] : ['git settings'])];
  const unused =
    given.length === 0 ? '' : `; the ${given.join(' and ')} given now ${push === undefined ? 'were' : 'was'} not used`;
  const cancel = given.length === 0 ? '' : ': cancel the switch first, and ask anew';
  return `${row.id} to ${row.to_mode} mode was under way already, asked for by ${row.requested_by} at ${row.requested_at}${unused}${cancel}`;
}

/** The same refusals as without `dryRun`, then what would be done. */
async function tryOut(deps: AdminDeps, admin: AdminIdentity, asked: AskedSwitch, signal: AbortSignal) {
  await refuseImpossible(deps, asked, admin.name);
  const { cluster, to } = asked;
  const now = deps.clock.now();
  const heard = { ...cluster, last_contact_at: deps.lastContact.pending(cluster.id) ?? cluster.last_contact_at };
  const connected = connectionConditions(heard, now, deps.contactWatch.listeningSince).find(
    ({ type }) => type === 'Connected',
  );
  const ago = heard.last_contact_at === null ? '' : `, ${secondsBetween(heard.last_contact_at, now)} s ago`;
  const operator = { isConnected: connected?.status === 'True', message: `${connected?.message ?? ''}${ago}` };
  const planned = await planSwitch({ ...deps, db: deps.store.db }, asked, operator, signal);
  return {
    clusterId: cluster.id,
    clusterSlug: cluster.slug,
    from: cluster.connectivity_mode,
    to,
    dryRun: true,
    ...planned,
    requestedBy: admin.name,
  };
}

function secondsBetween(from: string, to: Date): number {
  return Math.max(0, Math.round((to.getTime() - Date.parse(from)) / 1000));
}

function viewDeps({ store, clock }: AdminDeps) {
  return { db: store.db, now: clock.now() };
}
