import type { IncomingMessage } from 'node:http';
import { parse as parseYaml } from 'yaml';
import { decodeProtobuf } from './protobuf-body.ts';
import { badRequest, StatusError, unsupportedMediaType } from './status-error.ts';

/** As the real server limits writes. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;

export const PATCH_TYPES = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
} as const;

export type PatchType = (typeof PATCH_TYPES)[keyof typeof PATCH_TYPES];

/** The whole body, at most 3 MiB. @throws StatusError 413 */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  const tooLarge = (): StatusError =>
    new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY_BYTES}`, {});
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk as Uint8Array);
    length += bytes.length;
    if (length > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badRequest(`couldn't get version/kind; json parse error: ${error instanceof Error ? error.message : ''}`);
  }
}

/** YAML 1.1, which the real server reads; JSON goes the short way. */
function parseYamlOrJson(text: string): unknown {
  if (/^\s*[{[]/.test(text)) return parseJson(text);
  try {
    return parseYaml(text, { version: '1.1' }) as unknown;
  } catch (error) {
    throw badRequest(`error decoding YAML: ${error instanceof Error ? error.message : ''}`);
  }
}

/** The object of a POST, PUT or DELETE. An empty body is `undefined`. @throws StatusError 400, 415 */
export function parseObjectBody(body: Buffer, contentType: string | undefined): unknown {
  if (body.length === 0) return undefined;
  const mediaType = mediaTypeOf(contentType);
  if (mediaType === '' || mediaType === 'application/json' || mediaType === '*/*') return parseJson(body.toString());
  if (mediaType === 'application/yaml') return parseYamlOrJson(body.toString());
  const object = mediaType === 'application/vnd.kubernetes.protobuf' ? parseProtobuf(body) : undefined;
  if (object === undefined) throw unsupportedMediaType(['application/json', 'application/yaml']);
  return object;
}

function parseProtobuf(body: Buffer): unknown {
  try {
    return decodeProtobuf(body);
  } catch (error) {
    throw badRequest(`couldn't decode protobuf: ${error instanceof Error ? error.message : ''}`);
  }
}

/** @throws StatusError 415 for a type the kind does not take */
export function patchTypeOf(contentType: string | undefined, custom: boolean): PatchType {
  const mediaType = mediaTypeOf(contentType);
  for (const [name, type] of Object.entries(PATCH_TYPES)) {
    if (name === mediaType && !(custom && type === 'strategic')) return type;
  }
  const accepted = Object.entries(PATCH_TYPES).filter(([, type]) => !(custom && type === 'strategic'));
  throw unsupportedMediaType(accepted.map(([name]) => name));
}

/** @throws StatusError 400 */
export function parsePatchBody(body: Buffer, type: PatchType): unknown {
  return type === 'apply' ? parseYamlOrJson(body.toString()) : parseJson(body.toString());
}
