import type { ChartSource } from '../../protocol/chart.ts';
import { orderVersions } from './chart-versions.ts';
import { IndexScanner } from './index-scanner.ts';
import { helmIndexAddress, isPlain } from './registry-address.ts';
import type { AskContext } from './oci-registry.ts';
import { RegistryFault } from './registry-fault.ts';
import type { VersionsOutcome } from '../store/chart-versions.ts';

/** The largest public indices have some 30 MB. */
const MAX_INDEX_BYTES = 64 * 1024 * 1024;
const MAX_ETAG = 512;

/**
 * The versions of a chart in a Helm repository: its `index.yaml`, unless it is the same as the one with that `ETag`. The
 * credential goes to the repository's own origin alone, and never in clear over a network.
 *
 * @throws RegistryFault
 */
export async function listHelmVersions(
  chart: ChartSource,
  { client, basic, signal, etag }: AskContext & { readonly etag: string | undefined },
): Promise<Exclude<VersionsOutcome, { readonly state: 'failed' }>> {
  const url = helmIndexAddress(chart);
  if (url === undefined) throw new RegistryFault('unusable', `${chart.url} is not an https:// address`);
  if (basic !== undefined && isPlain(chart)) {
    throw new RegistryFault('unusable', `${url.host} was not called: a credential does not go over http://`);
  }
  return await client.get(
    url,
    {
      accept: 'application/yaml, application/x-yaml, text/yaml, text/plain, */*;q=0.1',
      ...(etag === undefined ? {} : { headers: { 'if-none-match': etag } }),
      authorization: basic,
      followsRedirects: true,
    },
    async (answer) => {
      const { status, url: from } = answer;
      if (status === 304 && etag !== undefined) return { state: 'unchanged' };
      if (status === 401 || status === 403) {
        const what = basic === undefined ? 'it wants a credential' : 'it does not take the credential';
        const next = 'set one with servicectl catalog login';
        throw new RegistryFault('refused', `${from.host} refuses its index (${status}): ${what}; ${next}`);
      }
      if (status === 404) throw new RegistryFault('refused', `${from.host} has no index.yaml there (404)`);
      if (status !== 200) throw new RegistryFault('unusable', `${from.host} answered ${status} to index.yaml`);
      const scanner = new IndexScanner(chart.name);
      for await (const piece of answer.pieces(MAX_INDEX_BYTES)) scanner.push(piece);
      const versions = orderVersions(scanner.end());
      const tag = answer.header('etag');
      return {
        state: 'fetched',
        versions,
        ...(tag === undefined || tag.length > MAX_ETAG ? {} : { etag: tag }),
      };
    },
    signal,
  );
}
