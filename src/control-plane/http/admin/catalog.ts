import type { Kysely } from 'kysely';
import semver from 'semver';
import { Type } from 'typebox';
import { AppError, type Fault } from '../../../protocol/app-error.ts';
import { ChartSource } from '../../../protocol/chart.ts';
import { EntryName } from '../../../protocol/names.ts';
import { refusal } from '../../../protocol/parse.ts';
import { readablePart } from '../../../protocol/readable-part.ts';
import { chartAddressFault } from '../../catalog/chart-address-fault.ts';
import { Deprecation } from '../../catalog/deprecation.ts';
import { RequiredApprovals } from '../../git/git-settings.ts';
import { appendAudit } from '../../store/audit.ts';
import {
  deleteCatalogEntry,
  findCatalogEntry,
  listCatalogEntries,
  putCatalogEntry,
  type StoredCatalogEntry,
} from '../../store/catalog-entries.ts';
import { deleteChartVersions, fitVersions } from '../../store/chart-versions.ts';
import { schemaFaults } from '../../require-values-fit.ts';
import { raiseConfigRevisions } from '../../store/clusters.ts';
import type { Database } from '../../store/schema.ts';
import { findEntryUse } from '../../store/standing-instances.ts';
import { configTopic } from '../../topics.ts';
import { answers, NoAnswer } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { NotModified, requireMatch, sendTagged } from './entity-tag.ts';
import { formFaults } from './form-faults.ts';
import { answerHeavyPage } from './heavy-page.ts';
import { PageQuery, readPage } from './page.ts';
import { CatalogEntryAnswer, CatalogPageAnswer } from './catalog-answers.ts';

export const EntryParams = Type.Object({ name: EntryName });

const PutEntry = Type.Object(
  {
    chart: Type.Object(ChartSource.properties, { additionalProperties: false }),
    versions: Type.String({ minLength: 1, maxLength: 256 }),
    defaultValues: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    valuesSchema: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    approval: Type.Optional(RequiredApprovals),
    deprecation: Type.Optional(Deprecation),
  },
  { additionalProperties: false },
);

/** An entry whose form may be wrong elsewhere. */
type ReadableEntry = Pick<StoredCatalogEntry, 'name'> & Partial<StoredCatalogEntry>;

/** Of what keeps an entry from being deleted, so many are named. */
const NAMED_USES = 20;

const putSchema = {
  tags: ['catalog'],
  operationId: 'putCatalogEntry',
  summary: 'Makes or replaces a catalog entry',
  params: EntryParams,
  body: PutEntry,
  response: answers({ 200: CatalogEntryAnswer }),
};
const remove = {
  tags: ['catalog'],
  operationId: 'deleteCatalogEntry',
  summary: 'Deletes a catalog entry that nothing uses',
  params: EntryParams,
  response: answers({ 204: NoAnswer }),
};
const show = {
  tags: ['catalog'],
  operationId: 'getCatalogEntry',
  summary: 'One catalog entry',
  params: EntryParams,
  response: answers({ 200: CatalogEntryAnswer, 304: NotModified }),
};
const list = {
  tags: ['catalog'],
  operationId: 'listCatalogEntries',
  summary: 'Catalog entries, by name',
  querystring: PageQuery,
  response: answers({ 200: CatalogPageAnswer }),
};

/** `PUT`, `GET`, `DELETE /catalog/{name}`; `GET /catalog`. */
export function catalogRoutes(app: HttpServer, deps: AdminDeps): void {
  const put = { schema: putSchema, attachValidation: true };
  app.put('/catalog/:name', put, async (request, reply) => {
    const { organization, name: actor } = adminOf(request);
    const { name } = request.params;
    const at = deps.clock.now().toISOString();
    const form = formFaults(request);
    const readable = form.length === 0 ? request.body : (readablePart(request.body, form)?.value ?? {});
    const faults = [...form, ...entryFaults({ ...readable, name })];
    const schema = await schemaFaults(deps.valuesChecker, organization.id, readable);
    if (faults.length + schema.length > 0) throw refusal([...faults, ...schema]);
    const entry: StoredCatalogEntry = { name, ...request.body, updatedAt: at };
    const woken = await deps.store.write(async (trx) => {
      requireMatch(request, editableOf(await findCatalogEntry(trx, organization.id, name)), `catalog entry ${name}`);
      const put = await putCatalogEntry(trx, organization.id, entry);
      if (!put.isChanged) return [];
      await fitVersions(trx, organization.id, entry, put);
      const act = { organizationId: organization.id, at, source: 'user', actor } as const;
      const summary = `catalog entry ${name}: ${entry.chart.type} ${entry.chart.url}, versions ${entry.versions}${notesOf(entry)}`;
      await appendAudit(trx, { ...act, kind: 'CatalogEntryUpdated', summary });
      if (put.lost !== undefined) {
        const lost = `catalog entry ${name}: credential of user ${put.lost} dropped: it was for the chart before`;
        await appendAudit(trx, { ...act, kind: 'CatalogCredentialDeleted', summary: lost });
      }
      return await raiseConfigRevisions(trx, organization.id);
    });
    for (const id of woken) deps.wakeups.notify(configTopic(id));
    const answer = await requireEntry(deps.store.db, organization.id, name);
    return await sendTagged(request, reply, { editable: editableOf(answer), answer });
  });

  app.delete('/catalog/:name', { schema: remove }, async (request, reply) => {
    const { organization, name: actor } = adminOf(request);
    const { name } = request.params;
    await deps.store.write(async (trx) => {
      const entry = await requireEntry(trx, organization.id, name);
      const { chart } = entry;
      requireMatch(request, editableOf(entry), `catalog entry ${name}`);
      await requireUnused(trx, organization.id, name);
      await deleteCatalogEntry(trx, organization.id, name);
      await deleteChartVersions(trx, organization.id, name);
      await appendAudit(trx, {
        organizationId: organization.id,
        at: deps.clock.now().toISOString(),
        source: 'user',
        kind: 'CatalogEntryDeleted',
        actor,
        summary: `catalog entry ${name} deleted: ${chart.type} ${chart.url}`,
      });
    });
    return await reply.code(204).send();
  });

  app.get('/catalog/:name', { schema: show }, async (request, reply) => {
    const answer = await requireEntry(deps.store.db, adminOf(request).organization.id, request.params.name);
    return await sendTagged(request, reply, { editable: editableOf(answer), answer });
  });

  app.get('/catalog', { schema: list }, async (request, reply) => {
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

/** All of it but when it was put: the same put again changes nothing. */
function editableOf(entry: StoredCatalogEntry | undefined): object | undefined {
  return entry === undefined ? undefined : { ...entry, updatedAt: undefined };
}

/** @throws AppError `not_found` */
export async function requireEntry(
  db: Kysely<Database>,
  organizationId: string,
  name: string,
): Promise<StoredCatalogEntry> {
  const entry = await findCatalogEntry(db, organizationId, name);
  if (entry === undefined) throw new AppError('not_found', `there is no catalog entry ${name}`);
  return entry;
}

/** @throws AppError `conflict` that names what still uses the entry */
async function requireUnused(trx: Kysely<Database>, organizationId: string, name: string): Promise<void> {
  const use = await findEntryUse(trx, organizationId, name, NAMED_USES);
  const instances = use.instances.map((one) => `${one.cluster.slug} ${one.namespace}/${one.name}`);
  const why = [
    ['clusters list it', use.clusters],
    ['instances of it stand', instances],
    ['intents of it are not delivered', use.intents],
  ] as const;
  const said = why.filter(([, names]) => names.length > 0).map(([what, names]) => `${what}: ${names.join(', ')}`);
  if (said.length === 0) return;
  const message = `the catalog entry ${name} is in use (${said.join('; ')}); take it from the lists and uninstall first`;
  throw new AppError('conflict', message, { extra: { clusters: use.clusters, instances, intents: use.intents } });
}

function notesOf({ approval, deprecation }: StoredCatalogEntry): string {
  const needs = approval === undefined ? '' : `, approval by ${approval.count}`;
  return `${needs}${deprecation === undefined ? '' : ', deprecated'}`;
}

/** What would make every intent from the entry fail is refused here, where it can be put right: all of it that is there. */
function entryFaults({ name, chart, versions, deprecation }: ReadableEntry): Fault[] {
  const faults: Fault[] = [];
  if (versions !== undefined && semver.validRange(versions) === null) {
    faults.push({ path: '/versions', message: "must be a semver range, such as '>=6.5.0 <7'" });
  }
  const fault = chart === undefined ? undefined : chartAddressFault(chart);
  if (fault !== undefined) faults.push({ path: '/chart/url', message: fault });
  if (deprecation?.replacement === name) {
    faults.push({ path: '/deprecation/replacement', message: 'must be another entry than the one it replaces' });
  }
  return faults;
}
