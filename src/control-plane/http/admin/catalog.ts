import semver from 'semver';
import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { ChartSource, chartUrlFault } from '../../../protocol/chart.ts';
import { EntryName } from '../../../protocol/names.ts';
import { refusal } from '../../../protocol/parse.ts';
import { appendAudit } from '../../store/audit.ts';
import {
  findCatalogEntry,
  listCatalogEntries,
  putCatalogEntry,
  type StoredCatalogEntry,
} from '../../store/catalog-entries.ts';
import { requireUsableSchema } from '../../require-values-fit.ts';
import { raiseConfigRevisions } from '../../store/clusters.ts';
import { configTopic } from '../../topics.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { answerHeavyPage } from './heavy-page.ts';
import { PageQuery, readPage } from './page.ts';

const EntryParams = Type.Object({ name: EntryName });

const PutEntry = Type.Object(
  {
    chart: Type.Object(ChartSource.properties, { additionalProperties: false }),
    versions: Type.String({ minLength: 1, maxLength: 256 }),
    defaultValues: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    valuesSchema: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    approval: Type.Optional(Type.Unknown()),
  },
  { additionalProperties: false },
);

/** `PUT`, `GET /catalog/{name}`; `GET /catalog`. */
export function catalogRoutes(app: HttpServer, deps: AdminDeps): void {
  app.put('/catalog/:name', { schema: { params: EntryParams, body: PutEntry } }, async (request, reply) => {
    const { organization, name: actor } = adminOf(request);
    const { name } = request.params;
    const { approval, ...content } = request.body;
    if (approval !== undefined) {
      throw refusal([{ path: '/approval', message: 'is not in this version; every intent is delivered directly' }]);
    }
    const at = deps.clock.now().toISOString();
    const entry: StoredCatalogEntry = { name, ...content, updatedAt: at };
    assertUsable(entry);
    await requireUsableSchema(deps.valuesChecker, organization.id, entry);
    const woken = await deps.store.write(async (trx) => {
      if (!(await putCatalogEntry(trx, organization.id, entry))) return [];
      await appendAudit(trx, {
        organizationId: organization.id,
        at,
        source: 'user',
        kind: 'CatalogEntryUpdated',
        actor,
        summary: `catalog entry ${name}: ${entry.chart.type} ${entry.chart.url}, versions ${entry.versions}`,
      });
      return await raiseConfigRevisions(trx, organization.id);
    });
    for (const id of woken) deps.wakeups.notify(configTopic(id));
    return await reply.send(await requireEntry(deps, organization.id, name));
  });

  app.get('/catalog/:name', { schema: { params: EntryParams } }, async (request, reply) => {
    return await reply.send(await requireEntry(deps, adminOf(request).organization.id, request.params.name));
  });

  app.get('/catalog', { schema: { querystring: PageQuery } }, async (request, reply) => {
    const { organization } = adminOf(request);
    const page = readPage(request.query, 's');
    const answer = await answerHeavyPage(
      page,
      async (limit, key) => {
        const after = key === undefined ? undefined : String(key[0]);
        return await listCatalogEntries(deps.store.db, organization.id, { limit, after });
      },
      (entry) => [entry.name],
      (entry) => JSON.stringify(entry).length,
      (entry) => entry,
    );
    return await reply.send(answer);
  });
}

async function requireEntry(deps: AdminDeps, organizationId: string, name: string): Promise<StoredCatalogEntry> {
  const entry = await findCatalogEntry(deps.store.db, organizationId, name);
  if (entry === undefined) throw new AppError('not_found', `there is no catalog entry ${name}`);
  return entry;
}

/** What would make every intent from the entry fail is refused here, where it can be put right. */
function assertUsable(entry: StoredCatalogEntry): void {
  if (semver.validRange(entry.versions) === null) {
    throw refusal([{ path: '/versions', message: "must be a semver range, such as '>=6.5.0 <7'" }]);
  }
  const scheme = entry.chart.type === 'oci' ? 'oci://' : 'http';
  if (!entry.chart.url.startsWith(scheme)) {
    const wanted = entry.chart.type === 'oci' ? 'oci://' : 'https:// or http://';
    throw refusal([{ path: '/chart/url', message: `must begin with ${wanted} for type ${entry.chart.type}` }]);
  }
  const fault = chartUrlFault(entry.chart.url);
  if (fault !== undefined) throw refusal([{ path: '/chart/url', message: fault }]);
}
