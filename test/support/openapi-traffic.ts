import Schema from 'typebox/schema';
import type { Content, OpenApiDocument, Operation } from '../../src/control-plane/http/openapi/openapi.ts';

/** One request and its answer, as a test saw them. */
export interface Traffic {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly requestBody?: unknown;
  readonly status: number;
  readonly mediaType: string | undefined;
  /** As it came; empty where there was no body. */
  readonly text: string;
}

interface DocumentedPath {
  readonly template: string;
  readonly pattern: RegExp;
  readonly operations: Readonly<Record<string, Operation>>;
}

/** By the tag of the document: it is compiled once a process, whatever number of servers serves it. */
const checks = new Map<string, OpenApiTraffic>();

/**
 * Holds calls of the API against the document that their server serves: an answer, or the body of a request that was
 * accepted, with a member that is not documented, without one that has to be there, or of another type, and a status or
 * media type that is not documented, each fail the test that made the call.
 */
export class OpenApiTraffic {
  readonly #document: OpenApiDocument;
  readonly #paths: readonly DocumentedPath[];
  readonly #compiled = new Map<object, ReturnType<typeof Schema.Compile>>();

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#paths = Object.entries(document.paths)
      .map(([template, operations]) => ({ template, operations, pattern: patternOf(template) }))
      // A path that is written out goes before one with a parameter there.
      .sort((a, b) => parametersIn(a.template) - parametersIn(b.template));
  }

  /** @param ask asks the server for the document, with the tags that are known; undefined: it is one of them */
  static async of(
    ask: (known: readonly string[]) => Promise<{ readonly tag: string; readonly text: string | undefined }>,
  ): Promise<OpenApiTraffic> {
    const { tag, text } = await ask([...checks.keys()]);
    const known = checks.get(tag);
    if (known !== undefined) return known;
    if (text === undefined) throw new Error(`the server answers that ${tag} is known, and it is not`);
    const made = new OpenApiTraffic(JSON.parse(text) as OpenApiDocument);
    checks.set(tag, made);
    return made;
  }

  /** @throws Error that says which call it was, and where the fault is */
  check(traffic: Traffic): void {
    const faults = this.faultsOf(traffic);
    if (faults.length === 0) return;
    const call = `${traffic.method} ${traffic.path} → ${traffic.status}`;
    throw new Error(`${call} is not as /openapi.json says:\n${faults.join('\n')}\n${traffic.text.slice(0, 2000)}`);
  }

  faultsOf(traffic: Traffic): string[] {
    const { pathname, searchParams } = new URL(traffic.path, 'http://localhost');
    const path = this.#paths.find(({ pattern }) => pattern.test(pathname));
    const method = traffic.method.toLowerCase();
    const operation = path?.operations[method === 'head' ? 'get' : method];
    if (operation === undefined) {
      const isOutside = !pathname.startsWith('/api/') || traffic.status === 404 || traffic.status === 400;
      return isOutside ? [] : [`there is no ${traffic.method} ${pathname} in the document`];
    }
    const answered = operation.responses[String(traffic.status)];
    if (answered === undefined) return [`the status ${traffic.status} is not documented`];
    const isAccepted = traffic.status < 300;
    return [
      ...(method === 'head' ? [] : this.#answerFaults(answered.content, traffic)),
      ...(isAccepted ? this.#requestFaults(operation, traffic.requestBody) : []),
      ...(isAccepted ? queryFaults(operation, searchParams) : []),
    ];
  }

  #answerFaults(content: Content | undefined, { mediaType, text }: Traffic): string[] {
    if (content === undefined) return text === '' ? [] : ['there is a body where none is documented'];
    const [type = ''] = (mediaType ?? '').split(';').map((part) => part.trim());
    const documented = content[type];
    if (documented === undefined)
      return [`the media type is ${type}, documented is ${Object.keys(content).join(', ')}`];
    return type.endsWith('json') ? this.#faults(documented.schema, JSON.parse(text), 'the answer') : [];
  }

  #requestFaults({ requestBody }: Operation, body: unknown): string[] {
    if (body === undefined) return [];
    const [documented] = Object.values(requestBody?.content ?? {});
    return documented === undefined
      ? ['the request had a body where none is documented']
      : this.#faults(documented.schema, body, 'the request');
  }

  #faults(schema: object, value: unknown, of: string): string[] {
    const compiled = this.#compiled.get(schema) ?? Schema.Compile({ ...schema, components: this.#document.components });
    this.#compiled.set(schema, compiled);
    if (compiled.Check(value)) return [];
    const [, errors] = compiled.Errors(value);
    return errors.map(
      ({ instancePath, message, params }) => `${of}: ${instancePath}: ${message} ${JSON.stringify(params)}`,
    );
  }
}

function queryFaults({ parameters = [] }: Operation, query: URLSearchParams): string[] {
  const documented = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
  return [...query.keys()]
    .filter((name) => !documented.includes(name))
    .map((name) => `the query has ${name}, which is not documented`);
}

function patternOf(template: string): RegExp {
  const parts = template.split(/\{[^{}]+\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^/]+')}$`);
}

function parametersIn(template: string): number {
  return template.split('{').length;
}

/** As the server reads it; undefined where there is none, and for text that is no JSON, which is never accepted. */
export function bodyIn(text: string): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}
