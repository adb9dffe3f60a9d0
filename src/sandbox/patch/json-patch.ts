import { isJsonObject, sameJson } from '../json-value.ts';
import { badRequest, StatusError } from '../status-error.ts';

/** What the real server answers for any operation that does not go through, a failing `test` included. */
function refused(): StatusError {
  return new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
}

function parsePointer(pointer: unknown): readonly string[] {
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.startsWith('/'))) throw refused();
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function indexIn(token: string, end: number): number {
  if (!/^(?:0|[1-9]\d*)$/.test(token)) throw refused();
  const index = Number(token);
  if (index > end) throw refused();
  return index;
}

function read(document: unknown, path: readonly string[]): unknown {
  let value = document;
  for (const token of path) {
    if (Array.isArray(value)) value = value[indexIn(token, value.length - 1)];
    else if (isJsonObject(value) && Object.hasOwn(value, token)) value = value[token];
    else throw refused();
  }
  return value;
}

type Edit = (container: Record<string, unknown> | unknown[], token: string) => void;

function edit(document: unknown, path: readonly string[], apply: Edit): void {
  const container = read(document, path.slice(0, -1));
  const token = path.at(-1) ?? '';
  if (!Array.isArray(container) && !isJsonObject(container)) throw refused();
  apply(container, token);
}

function add(document: unknown, path: readonly string[], value: unknown): unknown {
  if (path.length === 0) return value;
  edit(document, path, (container, token) => {
    if (!Array.isArray(container)) container[token] = value;
    else if (token === '-') container.push(value);
    else container.splice(indexIn(token, container.length), 0, value);
  });
  return document;
}

function remove(document: unknown, path: readonly string[]): unknown {
  if (path.length === 0) throw refused();
  read(document, path);
  edit(document, path, (container, token) => {
    if (Array.isArray(container)) container.splice(Number(token), 1);
    else delete container[token];
  });
  return document;
}

function replace(document: unknown, path: readonly string[], value: unknown): unknown {
  if (path.length === 0) return value;
  read(document, path);
  edit(document, path, (container, token) => {
    if (Array.isArray(container)) container[Number(token)] = value;
    else container[token] = value;
  });
  return document;
}

function perform(document: unknown, operation: unknown): unknown {
  if (!isJsonObject(operation)) throw refused();
  const path = parsePointer(operation['path']);
  // A copy, so that two places of the document never share a value that a later operation changes.
  const value: unknown = structuredClone(operation['value']);
  const hasValue = Object.hasOwn(operation, 'value');
  switch (operation['op']) {
    case 'add':
      if (!hasValue) throw refused();
      return add(document, path, value);
    case 'remove':
      return remove(document, path);
    case 'replace':
      if (!hasValue) throw refused();
      return replace(document, path, value);
    case 'test':
      if (!sameJson(read(document, path), value ?? null)) throw refused();
      return document;
    case 'copy':
      return add(document, path, structuredClone(read(document, parsePointer(operation['from']))));
    case 'move': {
      const from = parsePointer(operation['from']);
      if (path.length > from.length && from.every((token, index) => path[index] === token)) throw refused();
      const moved = read(document, from);
      return add(remove(document, from), path, moved);
    }
    default:
      throw refused();
  }
}

/** RFC 6902, all or nothing. @throws StatusError 422 `Invalid` when an operation fails, 400 for no patch at all */
export function jsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest('error decoding patch: json: cannot unmarshal object into a JSON patch');
  if (patch.length > 10_000) {
    const message = `The allowed maximum operations in a JSON patch is 10000, got ${patch.length}`;
    throw new StatusError(413, 'RequestEntityTooLarge', message);
  }
  let document: unknown = structuredClone(target);
  for (const operation of patch) document = perform(document, operation);
  return document;
}
