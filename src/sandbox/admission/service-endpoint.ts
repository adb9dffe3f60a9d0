import { isJsonObject, listAt, objectAt, stringAt } from '../json-value.ts';
import type { Storage } from '../storage.ts';

/** Where a port of a Service is served, after its Endpoints; a text says why nowhere. */
export function resolveService(
  storage: Storage,
  namespace: string,
  name: string,
  port: number,
): { readonly host: string; readonly port: number } | string {
  const service = storage.get('services', namespace, name);
  if (service === undefined) return `service "${name}" not found`;
  const ports = listAt(service['spec'], 'ports').filter(isJsonObject);
  const servicePort = ports.find((candidate) => candidate['port'] === port);
  if (servicePort === undefined) return `no service port ${port} found for service "${name}"`;
  const wanted = stringAt(servicePort, 'name') ?? '';
  const endpoints = storage.get('endpoints', namespace, name);
  if (endpoints === undefined) return `endpoints "${name}" not found`;
  for (const subset of listAt(endpoints, 'subsets')) {
    const [address] = listAt(subset, 'addresses');
    const host = stringAt(address, 'ip');
    const entry = listAt(subset, 'ports').find((candidate) => (stringAt(candidate, 'name') ?? '') === wanted);
    const number: unknown = objectAt({ entry }, 'entry')['port'];
    if (host !== undefined && typeof number === 'number') return { host, port: number };
  }
  return `no endpoints available for service "${name}"`;
}
