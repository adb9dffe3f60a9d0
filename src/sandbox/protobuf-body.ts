import { isJsonObject, type JsonObject } from './json-value.ts';

type FieldType =
  | 'string'
  | 'strings'
  | 'boolean'
  | 'integer'
  | 'bytes'
  | 'string-map'
  | 'bytes-map'
  | { readonly message: Message }
  | { readonly messages: Message };

/** Name and type of a message's fields by number; others are skipped. */
type Message = Readonly<Record<number, readonly [name: string, type: FieldType]>>;

const ownerReference: Message = {
  1: ['kind', 'string'],
  3: ['name', 'string'],
  4: ['uid', 'string'],
  5: ['apiVersion', 'string'],
  6: ['controller', 'boolean'],
  7: ['blockOwnerDeletion', 'boolean'],
};

const metadata: readonly [string, FieldType] = [
  'metadata',
  {
    message: {
      1: ['name', 'string'],
      2: ['generateName', 'string'],
      3: ['namespace', 'string'],
      5: ['uid', 'string'],
      6: ['resourceVersion', 'string'],
      11: ['labels', 'string-map'],
      12: ['annotations', 'string-map'],
      13: ['ownerReferences', { messages: ownerReference }],
      14: ['finalizers', 'strings'],
    },
  },
];

const boundObjectReference: Message = {
  1: ['kind', 'string'],
  2: ['apiVersion', 'string'],
  3: ['name', 'string'],
  4: ['uid', 'string'],
};

const tokenRequestSpec: Message = {
  1: ['audiences', 'strings'],
  3: ['boundObjectRef', { message: boundObjectReference }],
  4: ['expirationSeconds', 'integer'],
};

/** The kinds that `kubectl create` since 1.32 sends as protobuf and that are useful without their controllers, by API version. */
const kinds: Readonly<Record<string, Message>> = {
  'v1 Namespace': { 1: metadata, 2: ['spec', { message: { 1: ['finalizers', 'strings'] } }] },
  'v1 ConfigMap': {
    1: metadata,
    2: ['data', 'string-map'],
    3: ['binaryData', 'bytes-map'],
    4: ['immutable', 'boolean'],
  },
  'v1 Secret': {
    1: metadata,
    2: ['data', 'bytes-map'],
    3: ['type', 'string'],
    4: ['stringData', 'string-map'],
    5: ['immutable', 'boolean'],
  },
  'v1 ServiceAccount': { 1: metadata, 4: ['automountServiceAccountToken', 'boolean'] },
  'authentication.k8s.io/v1 TokenRequest': { 1: metadata, 2: ['spec', { message: tokenRequestSpec }] },
};

/** `runtime.Unknown`: the envelope of every object. */
const envelope: Message = {
  1: ['typeMeta', { message: { 1: ['apiVersion', 'string'], 2: ['kind', 'string'] } }],
  2: ['raw', 'bytes'],
};

const MAGIC = Buffer.from('k8s\0');

function* wireFields(bytes: Buffer): Generator<readonly [number, Buffer | number]> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at];
      if (byte === undefined || factor > 2 ** 49) throw new RangeError('unexpected end of a protobuf message');
      at += 1;
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const [number, wireType] = [Math.floor(key / 8), key % 8];
    if (wireType === 0) yield [number, varint()];
    else if (wireType === 2) {
      const length = varint();
      if (at + length > bytes.length) throw new RangeError('unexpected end of a protobuf message');
      yield [number, bytes.subarray(at, at + length)];
      at += length;
    } else throw new RangeError(`protobuf wire type ${wireType}`);
  }
}

function mapEntry(bytes: Buffer, encoding: 'utf8' | 'base64'): readonly [string, string] {
  let [key, value] = ['', ''];
  for (const [number, content] of wireFields(bytes)) {
    if (!Buffer.isBuffer(content)) continue;
    if (number === 1) key = content.toString();
    if (number === 2) value = content.toString(encoding);
  }
  return [key, value];
}

function put(result: JsonObject, name: string, type: FieldType, content: Buffer): void {
  const before = result[name];
  const list: unknown[] = Array.isArray(before) ? before : [];
  const map = isJsonObject(before) ? before : {};
  if (type === 'string') {
    // Go writes empty strings where JSON leaves the field out.
    if (content.length > 0) result[name] = content.toString();
  } else if (type === 'strings') result[name] = [...list, content.toString()];
  else if (type === 'bytes') result[name] = content.toString('base64');
  else if (type === 'string-map' || type === 'bytes-map') {
    const [key, value] = mapEntry(content, type === 'bytes-map' ? 'base64' : 'utf8');
    result[name] = { ...map, [key]: value };
  } else if (typeof type === 'object') {
    if ('message' in type) result[name] = decode(type.message, content);
    else result[name] = [...list, decode(type.messages, content)];
  }
}

function decode(message: Message, bytes: Buffer): JsonObject {
  const result: JsonObject = {};
  for (const [number, content] of wireFields(bytes)) {
    const [name, type] = message[number] ?? [];
    if (name === undefined || type === undefined) continue;
    if (Buffer.isBuffer(content)) put(result, name, type, content);
    else if (type === 'boolean') result[name] = content === 1;
    else if (type === 'integer') result[name] = content;
  }
  return result;
}

/**
 * An object from Kubernetes' protobuf encoding; `undefined` for a kind it does not know.
 *
 * @throws RangeError when it is no protobuf
 */
export function decodeProtobuf(body: Buffer): JsonObject | undefined {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) throw new RangeError('no Kubernetes protobuf');
  const { typeMeta, raw } = decode(envelope, body.subarray(MAGIC.length));
  if (!isJsonObject(typeMeta)) return undefined;
  const message = kinds[`${String(typeMeta['apiVersion'])} ${String(typeMeta['kind'])}`];
  if (message === undefined) return undefined;
  return { ...typeMeta, ...decode(message, Buffer.from(typeof raw === 'string' ? raw : '', 'base64')) };
}
