import { Type } from 'typebox';
import { EntryName } from '../../../protocol/names.ts';
import {
  probeWhileWaiting,
  putRepository,
  replaceCredentials,
  requireOtherHost,
  requireRepository,
  withProbe,
  type ChangedRepository,
} from '../../git-hosts/change-repository.ts';
import { deleteRepository } from '../../git-hosts/delete-repository.ts';
import { PutCredentials, PutRepository } from '../../git-hosts/repository-request.ts';
import { appendAudit } from '../../store/audit.ts';
import type { RepositoryRow } from '../../store/schema.ts';
import { storeProbe } from '../../store/repository-admin.ts';
import { answers, NoAnswer } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { NotModified, requireMatch, sendTagged } from './entity-tag.ts';
import { bodyMayBeAbsent, NoBody } from './named-cluster.ts';
import { ChangedRepositoryAnswer, RepositoryAnswer, viewRepository } from './repository-view.ts';

const RepositoryParams = Type.Object({ name: EntryName });

const show = {
  tags: ['repositories'],
  operationId: 'getRepository',
  summary: 'One repository',
  params: RepositoryParams,
  response: answers({ 200: RepositoryAnswer, 304: NotModified }),
};
const put = {
  tags: ['repositories'],
  operationId: 'putRepository',
  summary: 'Adds or changes a repository of another Git host',
  params: RepositoryParams,
  body: PutRepository,
  response: answers({ 200: ChangedRepositoryAnswer, 201: ChangedRepositoryAnswer }),
};
const replace = {
  tags: ['repositories'],
  operationId: 'replaceRepositoryCredentials',
  summary: 'Replaces what a repository of another Git host is written and read with',
  params: RepositoryParams,
  body: PutCredentials,
  response: answers({ 200: ChangedRepositoryAnswer }),
};
const remove = {
  tags: ['repositories'],
  operationId: 'deleteRepository',
  summary: 'Deletes the record of a repository that nothing uses',
  params: RepositoryParams,
  response: answers({ 204: NoAnswer }),
};
const probe = {
  tags: ['repositories'],
  operationId: 'probeRepository',
  summary: 'Tries whether a repository can be written and read, and leaves no trace',
  params: RepositoryParams,
  body: NoBody,
  response: answers({ 200: RepositoryAnswer }),
};

/** Of a repository; its credentials have a route of their own. */
function editableOf({ url, branch, layout, host, host_settings: settings }: RepositoryRow): object {
  return { url, branch, layout, host, settings };
}

/** `GET`, `PUT`, `DELETE /repositories/{name}`; `PUT …/credentials`; `POST …/probe`: repositories of other Git hosts. */
export function hostRepositoryRoutes(app: HttpServer, deps: AdminDeps): void {
  const changed = ({ row, webhookSecret }: ChangedRepository) => ({
    repository: viewRepository(row, deps.baseUrl()),
    ...(webhookSecret === undefined ? {} : { webhookSecret: webhookSecret.expose() }),
  });

  app.get('/repositories/:name', { schema: show }, async (request, reply) => {
    const row = await requireRepository(deps, adminOf(request), request.params.name);
    return await sendTagged(request, reply, { editable: editableOf(row), answer: viewRepository(row, deps.baseUrl()) });
  });

  app.put('/repositories/:name', { schema: put }, async (request, reply) => {
    const { name } = request.params;
    const mayChange = (now: RepositoryRow | undefined): void =>
      requireMatch(request, now === undefined ? undefined : editableOf(now), `repository ${name}`);
    const done = await putRepository(deps, adminOf(request), name, request.body, app.closing, mayChange);
    reply.code(done.isNew ? 201 : 200);
    return await sendTagged(request, reply, { editable: editableOf(done.row), answer: changed(done) });
  });

  app.put('/repositories/:name/credentials', { schema: replace }, async (request, reply) => {
    const done = await replaceCredentials(deps, adminOf(request), request.params.name, request.body, app.closing);
    return await reply.send(changed(done));
  });

  app.delete('/repositories/:name', { schema: remove }, async (request, reply) => {
    const { name } = request.params;
    const mayDelete = (row: RepositoryRow): void => requireMatch(request, editableOf(row), `repository ${name}`);
    await deleteRepository(deps, adminOf(request), name, mayDelete);
    return await reply.code(204).send();
  });

  const options = { schema: probe, preValidation: bodyMayBeAbsent };
  app.post('/repositories/:name/probe', options, async (request, reply) => {
    const admin = adminOf(request);
    const row = await requireRepository(deps, admin, request.params.name);
    requireOtherHost(row, request.params.name);
    const probed = await probeWhileWaiting(await deps.hostAccesses.of(row), row, app.closing);
    const at = deps.clock.now().toISOString();
    const now = withProbe(row, probed, at);
    await deps.store.write(async (trx) => {
      await storeProbe(trx, now);
      await appendAudit(trx, {
        organizationId: admin.organization.id,
        at,
        source: 'user',
        kind: 'RepositoryProbed',
        actor: admin.name,
        summary: `repository ${request.params.name} probed: ${probed.result.state}`,
      });
    });
    return await reply.send(viewRepository(now, deps.baseUrl()));
  });
}
