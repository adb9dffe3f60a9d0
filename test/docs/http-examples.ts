/** A request of a document, its answer there, and what has to happen before it. */
export interface HttpExample {
  readonly before: readonly string[];
  readonly request: Message;
  readonly answer: Message;
}

export interface Message {
  /** `POST /path HTTP/1.1` or `HTTP/1.1 200 OK`. */
  readonly start: string;
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Values that differ each time and are not remembered; any other `<name>` is the same wherever it stands. */
const PASSING: Readonly<Record<string, RegExp>> = {
  time: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/,
  message: /^.+$/,
  request_id: /^req-[0-9a-z]{26}$/,
};

/** The examples of a document in their order: a fenced block `http` with a request, then one with its answer. */
export function httpExamples(text: string): HttpExample[] {
  const found = [...text.matchAll(/^<!-- before: (.+) -->$|^```http\n([\s\S]*?)^```$/gm)];
  const examples: HttpExample[] = [];
  let before: string[] = [];
  let request: Message | undefined;
  for (const [, step, block] of found) {
    if (step !== undefined) before.push(step);
    else if (request === undefined) request = parse(block ?? '');
    else {
      examples.push({ before, request, answer: parse(block ?? '') });
      before = [];
      request = undefined;
    }
  }
  if (request !== undefined) throw new Error(`no answer follows the request ${request.start}`);
  return examples;
}

function parse(block: string): Message {
  const [head = '', ...rest] = block.split(/\n\n/);
  const [start = '', ...lines] = head.trim().split('\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { start, headers: new Map(headers), body: rest.join('\n\n').trim() };
}

/** What the placeholders of a document stand for, as far as it is known. */
export class Placeholders {
  readonly known = new Map<string, string>();

  /** Text with every `<name>` in it replaced. */
  fill(text: string): string {
    return text.replaceAll(/<([a-z_]+)>/g, (_, name: string) => {
      const value = this.known.get(name);
      if (value === undefined) throw new Error(`<${name}> stands in a request before anything says what it is`);
      return value;
    });
  }

  /** Where `actual` differs from what the document says; a placeholder that is met first takes its value. */
  differences(documented: unknown, actual: unknown, path = ''): string[] {
    if (typeof documented === 'string' && /^[^<]*<[a-z_]+>[^<]*$/.test(documented)) {
      return this.#meets(documented, actual) ? [] : [`${path}: ${show(actual)} is not ${documented}`];
    }
    if (Array.isArray(documented) && Array.isArray(actual)) {
      if (documented.length !== actual.length) return [`${path}: ${actual.length} items, not ${documented.length}`];
      return documented.flatMap((item: unknown, index) => this.differences(item, actual[index], `${path}/${index}`));
    }
    if (isObject(documented) && isObject(actual)) {
      const names = new Set([...Object.keys(documented), ...Object.keys(actual)]);
      return [...names].flatMap((name) => this.differences(documented[name], actual[name], `${path}/${name}`));
    }
    return documented === actual ? [] : [`${path}: ${show(actual)} is not ${show(documented)}`];
  }

  #meets(documented: string, actual: unknown): boolean {
    const [, before = '', name = '', after = ''] = /^([^<]*)<([a-z_]+)>([^<]*)$/.exec(documented) ?? [];
    // A part of the answer that has its own section.
    if (name === 'list' || name === 'metadata') return typeof actual === 'object' && actual !== null;
    if (typeof actual !== 'string' || !actual.startsWith(before) || !actual.endsWith(after)) return false;
    const value = actual.slice(before.length, actual.length - after.length);
    const passing = PASSING[name];
    if (passing !== undefined) return passing.test(value);
    const known = this.known.get(name);
    // A revision only grows, and is what the answer before says of the next request.
    if (known === undefined || (name === 'revision' && Number(value) > Number(known))) this.known.set(name, value);
    return value !== '' && this.known.get(name) === value;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
