import { request } from 'undici';
import type { RealCluster } from './running-cluster.ts';

/**
 * Makes every revision handed out so far expire: etcd is compacted, as the API server does every five minutes, and the
 * API server restarts, since its watch cache remembers on its own.
 */
export async function forgetHistory(cluster: RealCluster): Promise<void> {
  const { etcdUrl } = cluster;
  if (etcdUrl === undefined) throw new Error('this cluster does not let one see its etcd');
  const { header } = await ask(`${etcdUrl}/v3/kv/range`, { key: Buffer.from('none').toString('base64') });
  await ask(`${etcdUrl}/v3/kv/compaction`, { revision: header.revision, physical: true });
  await cluster.stopApiServer();
  await cluster.startApiServer();
}

async function ask(url: string, body: object): Promise<{ readonly header: { readonly revision: string } }> {
  const answer = await request(url, { method: 'POST', body: JSON.stringify(body), headersTimeout: 10_000 });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode} ${text}`);
  return JSON.parse(text) as { header: { revision: string } };
}
