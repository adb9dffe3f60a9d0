import { apiDocument } from '../../src/control-plane/http/openapi/api-document.ts';
import type { OpenApiDocument, Operation } from '../../src/control-plane/http/openapi/openapi.ts';
import { code, list, parts, prose, sentence } from './markdown.ts';
import { fieldItems, typeOf, type Schema } from './schema-fields.ts';

interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** Every operation of both APIs, by tag, and what they answer with. */
export async function apiPage(): Promise<string> {
  const document = await apiDocument();
  const routes = routesOf(document);
  const tags = [...new Set(routes.map(({ operation }) => operation.tags?.[0] ?? 'other'))].sort();
  return parts(
    '# API',
    'The same as `GET /openapi.json` of a control plane says for programs (OpenAPI 3.1), made from the schemas that requests and answers are checked by. Scopes are explained in [access.md](../access.md), the agent API in [agent-protocol.md](../spec/agent-protocol.md), error codes in [errors.md](errors.md). `list[].member` stands for a member of each item, `*` for any name.',
    list(tags.map((tag) => `[${tag}](#${tag})`)),
    ...tags.flatMap((tag) => [
      `## ${tag}`,
      ...routes.filter(({ operation }) => (operation.tags?.[0] ?? 'other') === tag).map(section),
    ]),
    '## Schemas',
    ...Object.entries(document.components.schemas).map(([name, schema]) => schemaSection(name, schema)),
  );
}

function routesOf({ paths }: OpenApiDocument): Route[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

function section({ method, path, operation }: Route): string {
  const { summary = '', parameters = [], requestBody, responses } = operation;
  const body = requestBody === undefined ? undefined : jsonOf(requestBody.content);
  const statuses = Object.entries(responses);
  const errors = statuses.filter(([status]) => Number(status) >= 400);
  return parts(
    `### ${method} ${path}`,
    `${sentence(prose(summary))} ${accessOf(operation)}`.trim(),
    parameters.length === 0 ? '' : 'Parameters:',
    list(parameters.map(parameterItem)),
    body === undefined ? '' : `Body: ${typeOf(body)}.`,
    body === undefined ? '' : list(fieldItems(body)),
    'Answers:',
    list(statuses.filter(([status]) => Number(status) < 400).map(([status, answer]) => answerItem(status, answer))),
    errors.length === 0
      ? ''
      : `Errors: ${errors.map(([status, { description }]) => `${status} ${codes(description)}`).join('; ')}.`,
  );
}

function parameterItem({
  in: place,
  name,
  required,
  description = '',
  schema,
}: NonNullable<Operation['parameters']>[number]): string {
  const [item = ''] = fieldItems({
    properties: { [name]: { ...schema, ...(description === '' ? {} : { description }) } },
    required: required === true ? [name] : [],
  });
  return item.replace('(', `(${place}, `);
}

function answerItem(status: string, { description, content }: Operation['responses'][string]): string {
  const media = content === undefined ? [] : Object.entries(content);
  const shown = media.map(([type, { schema }]) => {
    const isJson = type.includes('json');
    const fields = (schema as Schema).$ref === undefined ? fieldItems(schema as Schema) : [];
    const below = fields.map((field) => `\n  - ${field}`).join('');
    return `${isJson ? typeOf(schema as Schema) : code(type)}${below}`;
  });
  return `${status} ${prose(description)}${shown.length === 0 ? '' : `: ${shown.join(' or ')}`}`;
}

function schemaSection(name: string, schema: object): string {
  const { description = '' } = schema as Schema;
  const fields = fieldItems(schema as Schema);
  return parts(
    `### ${name}`,
    sentence(prose(description)),
    fields.length === 0 ? sentence(typeOf(schema as Schema)) : list(fields),
  );
}

function jsonOf(content: Readonly<Record<string, { readonly schema: object }>>): Schema | undefined {
  return (content['application/json'] ?? Object.values(content)[0])?.schema as Schema | undefined;
}

/** Whose credential it takes, and the scope that is needed. */
function accessOf({ security = [] }: Operation): string {
  const [scheme] = security.flatMap((one) => Object.entries(one));
  if (scheme === undefined) return 'Needs no token.';
  const [name, scopes] = scheme;
  if (name !== 'adminToken')
    return `Credential: ${Object.keys(security[0] ?? {})
      .map(code)
      .join(' with ')}.`;
  return scopes.length === 0 ? 'Needs a token.' : `Scope: ${scopes.map(code).join(', ')}.`;
}

function codes(description: string): string {
  return description.split(', ').map(code).join(', ');
}
