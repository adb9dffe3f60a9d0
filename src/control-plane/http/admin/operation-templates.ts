import type { Kysely } from 'kysely';
import { Type, type Static } from 'typebox';
import { BUILT_IN_TEMPLATES, isBuiltInTemplate } from '../../../operation-templates/built-in-templates.ts';
import type { BuiltInTemplate } from '../../../operation-templates/built-in/built-in-template.ts';
import { definitionFaults } from '../../../operation-templates/definition-faults.ts';
import { resolveTemplate } from '../../../operation-templates/resolve-template.ts';
import { AppError, type Fault } from '../../../protocol/app-error.ts';
import { EntryName } from '../../../protocol/names.ts';
import { OperationTemplateDefinition, TemplateRun } from '../../../protocol/operation-template.ts';
import { refusal } from '../../../protocol/parse.ts';
import { readablePart } from '../../../protocol/readable-part.ts';
import { RequiredApprovals } from '../../git/git-settings.ts';
import { requireRoom } from '../../projected-templates.ts';
import { appendAudit } from '../../store/audit.ts';
import {
  clustersThatList,
  deleteOperationTemplate,
  findOperationTemplate,
  listOperationTemplates,
  operationTemplateNames,
  putOperationTemplate,
  raiseRevisionsThatList,
  type StoredOperationTemplate,
} from '../../store/operation-templates.ts';
import type { Database } from '../../store/schema.ts';
import { configTopic } from '../../topics.ts';
import { answerOf, answers, AnyObject, listOf, NoAnswer, pageOf, Time } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { NotModified, requireMatch, sendTagged } from './entity-tag.ts';
import { formFaults } from './form-faults.ts';
import { answerHeavyPage } from './heavy-page.ts';
import { PageQuery, readPage } from './page.ts';

/** Of one organization. */
const MAX_TEMPLATES = 256;
/** Names of clusters in one message. */
const MAX_NAMED = 10;

const TemplateParams = Type.Object({ name: EntryName });
const { name: _name, ...content } = OperationTemplateDefinition.properties;
const PutTemplate = Type.Object(
  { ...content, approval: Type.Optional(RequiredApprovals) },
  { additionalProperties: false },
);

const TemplateAnswer = answerOf('OperationTemplateAnswer', {
  name: Type.String(),
  description: Type.Optional(Type.String()),
  isBuiltIn: Type.Boolean(),
  /** JSON schema of its parameters. */
  parameters: AnyObject,
  run: Type.Optional(TemplateRun),
  runs: Type.String({ description: 'the built-in template that does the work' }),
  deadlineSeconds: Type.Integer(),
  retries: Type.Integer(),
  isRetryable: Type.Boolean(),
  isCancellable: Type.Boolean(),
  targets: listOf(Type.String({ description: 'a kind of object that targetRef may name' })),
  approval: Type.Optional(RequiredApprovals),
  updatedAt: Type.Optional(Time),
});
type TemplateView = Static<typeof TemplateAnswer>;

const putSchema = {
  tags: ['operation-templates'],
  operationId: 'putOperationTemplate',
  summary: 'Makes or replaces an operation template, or what holds for a built-in one',
  params: TemplateParams,
  body: PutTemplate,
  response: answers({ 200: TemplateAnswer }),
};
const show = {
  tags: ['operation-templates'],
  operationId: 'getOperationTemplate',
  summary: 'One operation template',
  params: TemplateParams,
  response: answers({ 200: TemplateAnswer, 304: NotModified }),
};
const remove = {
  tags: ['operation-templates'],
  operationId: 'deleteOperationTemplate',
  summary: 'Deletes an operation template that no cluster lists',
  params: TemplateParams,
  response: answers({ 204: NoAnswer }),
};
const list = {
  tags: ['operation-templates'],
  operationId: 'listOperationTemplates',
  summary: 'Operation templates, the built-in ones among them',
  querystring: PageQuery,
  response: answers({ 200: pageOf(TemplateAnswer) }),
};

/** `GET /operation-templates`; `GET`, `PUT`, `DELETE /operation-templates/{name}`. */
export function operationTemplateRoutes(app: HttpServer, deps: AdminDeps): void {
  const { store, clock, wakeups } = deps;
  const named = '/operation-templates/:name';

  const put = { schema: putSchema, attachValidation: true };
  app.put(named, put, async (request, reply) => {
    const { organization, name: actor } = adminOf(request);
    const { name } = request.params;
    const form = formFaults(request);
    if (form.length > 0) throw refusal([...form, ...meantFaults(name, request.body, form)]);
    const { approval, ...rest } = request.body;
    const definition = { name, ...rest };
    const faults = definitionFaults(definition);
    if (faults.length > 0) throw refusal(faults);
    const updatedAt = clock.now().toISOString();
    const template = { definition, ...(asksForOne(approval) ? { approval } : {}), updatedAt };
    const woken = await store.write(async (trx) => {
      await requireRoom(trx, organization.id, definition);
      requireMatch(request, await editableOf(trx, organization.id, name), `operation template ${name}`);
      const names = await operationTemplateNames(trx, organization.id);
      if (!names.includes(name) && names.length >= MAX_TEMPLATES) {
        throw new AppError('conflict', `there are ${MAX_TEMPLATES} operation templates already; delete one first`);
      }
      if (!(await putOperationTemplate(trx, organization.id, template))) return [];
      await appendAudit(trx, {
        organizationId: organization.id,
        at: updatedAt,
        source: 'user',
        kind: 'OperationTemplateUpdated',
        actor,
        summary: `operation template ${name}: ${summaryOf(template)}`,
      });
      return await raiseRevisionsThatList(trx, organization.id, name);
    });
    for (const id of woken) wakeups.notify(configTopic(id));
    const answer = viewTemplate(name, await findOperationTemplate(store.db, organization.id, name));
    return await sendTagged(request, reply, { editable: await editableOf(store.db, organization.id, name), answer });
  });

  app.get(named, { schema: show }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { name } = request.params;
    const own = await findOperationTemplate(store.db, organization.id, name);
    if (own === undefined && !isBuiltInTemplate(name)) throw notFound(name);
    const editable = await editableOf(store.db, organization.id, name);
    return await sendTagged(request, reply, { editable, answer: viewTemplate(name, own) });
  });

  app.delete(named, { schema: remove }, async (request, reply) => {
    const { organization, name: actor } = adminOf(request);
    const { name } = request.params;
    const woken = await store.write(async (trx) => {
      requireMatch(request, await editableOf(trx, organization.id, name), `operation template ${name}`);
      const isThere = (await findOperationTemplate(trx, organization.id, name)) !== undefined;
      if (!isThere && isBuiltInTemplate(name)) {
        throw new AppError('conflict', `${name} is built in, and nothing is set of it that could be taken back`);
      }
      if (!isThere) throw notFound(name);
      const listing = isBuiltInTemplate(name) ? [] : await clustersThatList(trx, organization.id, name);
      if (listing.length > 0) throw stillListed(name, listing);
      await deleteOperationTemplate(trx, organization.id, name);
      await appendAudit(trx, {
        organizationId: organization.id,
        at: clock.now().toISOString(),
        source: 'user',
        kind: 'OperationTemplateDeleted',
        actor,
        summary: isBuiltInTemplate(name)
          ? `operation template ${name}: it is as it was built in again`
          : `operation template ${name} deleted`,
      });
      return await raiseRevisionsThatList(trx, organization.id, name);
    });
    for (const id of woken) wakeups.notify(configTopic(id));
    return await reply.code(204).send();
  });

  app.get('/operation-templates', { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const answer = await answerHeavyPage(
      readPage(request.query, 's'),
      async (limit, key) => {
        const after = key === undefined ? undefined : String(key[0]);
        const own = await listOperationTemplates(store.db, organization.id, { limit, after });
        return withBuiltIn(own, after).slice(0, limit);
      },
      ({ name }) => [name],
      (template) => JSON.stringify(template).length,
      (template) => template,
    );
    return await reply.send(answer);
  });
}

/** What is wrong besides the form of it, as far as that can be read. */
function meantFaults(name: string, body: unknown, form: readonly Fault[]): readonly Fault[] {
  const readable = readablePart(body, form);
  return readable === undefined ? [] : definitionFaults({ ...readable.value, name }, readable.unread);
}

/** Both by name; the built-in ones are there whatever is set of them. */
function withBuiltIn(own: readonly StoredOperationTemplate[], after: string | undefined): TemplateView[] {
  const views = new Map(own.map((one) => [one.definition.name, viewTemplate(one.definition.name, one)]));
  for (const name of Object.keys(BUILT_IN_TEMPLATES)) {
    if (after === undefined || name > after) views.set(name, views.get(name) ?? viewTemplate(name, undefined));
  }
  return [...views.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** A template as it holds: what is built in, with what was set over it. */
function viewTemplate(name: string, own: StoredOperationTemplate | undefined): TemplateView {
  const resolved = resolveTemplate(name, own === undefined ? [] : [own.definition]);
  if (resolved === undefined) throw new Error(`operation template ${name} runs nothing that is built in`);
  const { definition, builtIn, runs, deadlineSeconds, retries } = resolved;
  const template: BuiltInTemplate = builtIn;
  const description = own?.definition.description ?? (definition === undefined ? template.description : undefined);
  const { approval, updatedAt } = own ?? {};
  return {
    name,
    ...(description === undefined ? {} : { description }),
    isBuiltIn: definition === undefined,
    parameters: { ...(definition === undefined ? template.parameters : (definition.parameters ?? { type: 'object' })) },
    ...(definition?.run === undefined ? {} : { run: definition.run }),
    runs,
    deadlineSeconds,
    retries,
    isRetryable: template.isRetryable,
    isCancellable: template.isCancellable,
    targets: template.targets,
    ...(approval === undefined ? {} : { approval }),
    ...(updatedAt === undefined ? {} : { updatedAt }),
  };
}

/** What was set of it; of one that is built in and as it was built in, nothing. Undefined: there is none. */
async function editableOf(db: Kysely<Database>, organizationId: string, name: string): Promise<object | undefined> {
  const own = await findOperationTemplate(db, organizationId, name);
  if (own === undefined) return isBuiltInTemplate(name) ? {} : undefined;
  return { ...own, updatedAt: undefined };
}

function asksForOne(approval: RequiredApprovals | undefined): approval is RequiredApprovals {
  return approval !== undefined && (approval.count > 0 || Object.keys(approval.roles ?? {}).length > 0);
}

function summaryOf({ definition, approval }: StoredOperationTemplate): string {
  const { run, deadlineSeconds, retries } = definition;
  return [
    run === undefined ? 'built in' : `runs ${run.template}`,
    ...(deadlineSeconds === undefined ? [] : [`within ${deadlineSeconds} s`]),
    ...(retries === undefined ? [] : [`retries ${retries}`]),
    approval === undefined ? 'no approval needed' : `${approval.count} to approve`,
  ].join(', ');
}

function stillListed(name: string, listing: readonly { readonly slug: string }[]): AppError {
  const slugs = listing.map(({ slug }) => slug);
  const more = slugs.length > MAX_NAMED ? ` and ${slugs.length - MAX_NAMED} more` : '';
  const message = `operation template ${name} is in allowedOperationTemplates of ${slugs.slice(0, MAX_NAMED).join(', ')}${more}; take it off there first (PATCH /clusters/{id})`;
  return new AppError('conflict', message, { extra: { clusters: slugs.slice(0, MAX_NAMED) } });
}

function notFound(name: string): AppError {
  return new AppError('not_found', `there is no operation template ${name}`);
}
