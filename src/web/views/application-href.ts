import { path } from '../api/client.ts';
import { href } from '../router.ts';

/** Address of an application's page, or of an act on it. */
export function applicationHref(cluster: string, namespace: string, name: string, act?: 'change'): string {
  const address = path`/clusters/${cluster}/applications/${namespace}/${name}`;
  return href(act === undefined ? address : `${address}/${act}`);
}
