import { credentialInfosOf, type CredentialInfo } from '../../git-hosts/credential-info.ts';
import { hostSettingsOf } from '../../git-hosts/host-credentials.ts';
import { probeOf } from '../../git-hosts/probe-repository.ts';
import { defaultApiUrl, parseRepositoryUrl, webUrlOf } from '../../git-hosts/repository-address.ts';
import { layoutMoveOf } from '../../store/layout-moves.ts';
import { localName, repositoryUrl } from '../../store/repositories.ts';
import type { RepositoryRow } from '../../store/schema.ts';

/** A repository as the API shows it: of each credential its kind and its end, never what is secret. */
export function viewRepository(row: RepositoryRow, baseUrl: string): Record<string, unknown> {
  const move = layoutMoveOf(row);
  const common = {
    name: localName(row),
    branch: row.branch,
    layout: row.layout,
    ...(move === undefined
      ? {}
      : { layoutMove: { to: move.to, requestedBy: move.requestedBy, requestedAt: move.requestedAt } }),
  };
  if (row.host === null || row.embedded === 1) {
    return { ...common, host: 'embedded', url: repositoryUrl(baseUrl, row.name) };
  }
  const settings = hostSettingsOf(row);
  const address = parseRepositoryUrl(row.url);
  const isKnown = typeof address !== 'string';
  const apiUrl = settings.apiUrl ?? (isKnown ? defaultApiUrl(row.host, address) : undefined);
  const webUrl = isKnown ? webUrlOf(address) : undefined;
  const infos = credentialInfosOf(row);
  const probe = probeOf(row);
  return {
    ...common,
    host: row.host,
    url: row.url,
    ...(apiUrl === undefined ? {} : { apiUrl }),
    ...(webUrl === undefined ? {} : { webUrl }),
    ...(settings.caCertificate === undefined ? {} : { caCertificate: settings.caCertificate }),
    ...(infos?.proxy === undefined ? {} : { proxy: infos.proxy }),
    webhookUrl: `${baseUrl}/webhooks/git/${row.id}`,
    ...(infos === undefined
      ? {}
      : {
          credentials: {
            write: viewCredential(infos.write),
            ...(infos.read === undefined ? {} : { read: viewCredential(infos.read) }),
            ...(infos.api === undefined ? {} : { api: viewCredential(infos.api) }),
          },
        }),
    ...(probe === undefined ? {} : { probe }),
  };
}

function viewCredential({ warnedDays: _own, ...shown }: CredentialInfo): Omit<CredentialInfo, 'warnedDays'> {
  return shown;
}
