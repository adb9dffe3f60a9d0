import type { Attributes } from './authentication.ts';
import { POD_LOG_ANNOTATION } from './workload-controller/steering.ts';
import { notFound } from './status-error.ts';
import type { Storage } from './storage.ts';
import { podKind } from './built-in-kinds.ts';

const LOG = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/log$/;

/** What a request for a log is about, for the check of rights; `undefined` for any other request. */
export function logAttributes(path: string, method: string): Attributes | undefined {
  const [, namespace, name] = LOG.exec(path) ?? [];
  if (namespace === undefined || name === undefined || method !== 'GET') return undefined;
  return { verb: 'get', group: '', resource: 'pods', subresource: 'log', namespace, name, path: undefined };
}

/** Nothing runs here: a pod's log is what its annotation says. @throws StatusError 404 */
export function answerLog(storage: Storage, path: string, query: URLSearchParams): string {
  const [, namespace = '', name = ''] = LOG.exec(path) ?? [];
  const pod = storage.get('pods', namespace, name);
  if (pod === undefined) throw notFound(podKind, name);
  const lines = (pod.metadata.annotations?.[POD_LOG_ANNOTATION] ?? '').split(/(?<=\n)/);
  const tailLines = Number(query.get('tailLines') ?? lines.length);
  const text = tailLines === 0 ? '' : lines.slice(-tailLines).join('');
  const limit = Number(query.get('limitBytes') ?? Number.POSITIVE_INFINITY);
  return Buffer.from(text).subarray(0, limit).toString();
}
