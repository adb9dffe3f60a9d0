import { AppError } from '../../../protocol/app-error.ts';
import { refusal } from '../../../protocol/parse.ts';
import { isPlain } from '../../catalog/registry-address.ts';
import { RegistryCredential, sealCredential } from '../../catalog/registry-credential.ts';
import { appendAudit } from '../../store/audit.ts';
import { chartSourceText, setCatalogCredential } from '../../store/catalog-entries.ts';
import { makeDue } from '../../store/chart-versions.ts';
import { answers, NoAnswer } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { EntryParams, requireEntry } from './catalog.ts';
import { CatalogEntryAnswer } from './catalog-answers.ts';

const set = {
  tags: ['catalog'],
  operationId: 'setCatalogCredential',
  summary: "Sets what an entry's versions are read with",
  params: EntryParams,
  body: RegistryCredential,
  response: answers({ 200: CatalogEntryAnswer }),
};
const remove = {
  tags: ['catalog'],
  operationId: 'deleteCatalogCredential',
  summary: "Deletes what an entry's versions are read with",
  params: EntryParams,
  response: answers({ 204: NoAnswer }),
};

/** `PUT`, `DELETE /catalog/{name}/credentials`: with what the versions of the entry's chart are read. */
export function catalogCredentialRoutes(app: HttpServer, deps: AdminDeps): void {
  const { store, masterKey, clock } = deps;

  app.put('/catalog/:name/credentials', { schema: set }, async (request, reply) => {
    const { organization, name: actor } = adminOf(request);
    const { name } = request.params;
    const { chart } = await requireEntry(store.db, organization.id, name);
    if (isPlain(chart)) {
      const message = `${chart.url} is http://: a credential would travel in clear; put the entry with https:// first`;
      throw refusal([{ path: '', message }]);
    }
    const owner = { organizationId: organization.id, entry: name, chart };
    const sealed = await sealCredential(masterKey, owner, request.body);
    const at = clock.now().toISOString();
    await store.write(async (trx) => {
      const entry = await requireEntry(trx, organization.id, name);
      if (chartSourceText(entry.chart) !== chartSourceText(chart)) {
        throw new AppError('conflict', `the chart of ${name} was just changed; see whether the credential is for it`);
      }
      const info = { username: request.body.username, setAt: at };
      await setCatalogCredential(trx, organization.id, name, { sealed, info });
      await makeDue(trx, organization.id, name);
      await appendAudit(trx, {
        organizationId: organization.id,
        at,
        source: 'user',
        kind: 'CatalogCredentialUpdated',
        actor,
        summary: `catalog entry ${name}: credential of user ${info.username} set for ${chart.url}`,
      });
    });
    return await reply.send(await requireEntry(store.db, organization.id, name));
  });

  app.delete('/catalog/:name/credentials', { schema: remove }, async (request, reply) => {
    const { organization, name: actor } = adminOf(request);
    const { name } = request.params;
    await store.write(async (trx) => {
      const { credentials } = await requireEntry(trx, organization.id, name);
      if (credentials === undefined) throw new AppError('not_found', `the catalog entry ${name} has no credential`);
      await setCatalogCredential(trx, organization.id, name, undefined);
      await makeDue(trx, organization.id, name);
      await appendAudit(trx, {
        organizationId: organization.id,
        at: clock.now().toISOString(),
        source: 'user',
        kind: 'CatalogCredentialDeleted',
        actor,
        summary: `catalog entry ${name}: credential of user ${credentials.username} deleted`,
      });
    });
    return await reply.code(204).send();
  });
}
