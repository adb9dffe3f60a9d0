import { Type, type Static } from 'typebox';
import { CredentialInfo, credentialInfosOf } from '../../git-hosts/credential-info.ts';
import { hostSettingsOf } from '../../git-hosts/host-credentials.ts';
import { probeOf, ProbeResult } from '../../git-hosts/probe-repository.ts';
import { defaultApiUrl, parseRepositoryUrl, webUrlOf } from '../../git-hosts/repository-address.ts';
import { layoutMoveOf } from '../../store/layout-moves.ts';
import { localName, repositoryUrl } from '../../store/repositories.ts';
import type { RepositoryRow } from '../../store/schema.ts';
import { answerOf, oneOf, Time } from '../openapi/answers.ts';

const { warnedDays: _own, ...shownOfCredential } = CredentialInfo.properties;
const CredentialAnswer = answerOf('RepositoryCredentialAnswer', shownOfCredential);

export const repositoryProperties = {
  name: Type.String(),
  branch: Type.String(),
  layout: oneOf(['flat', 'sharded']),
  layoutMove: Type.Optional(
    Type.Object({ to: oneOf(['flat', 'sharded']), requestedBy: Type.String(), requestedAt: Time }),
  ),
  host: oneOf(['embedded', 'git', 'github', 'gitlab', 'gitea']),
  url: Type.String(),
  apiUrl: Type.Optional(Type.String()),
  webUrl: Type.Optional(Type.String()),
  caCertificate: Type.Optional(Type.String()),
  proxy: Type.Optional(Type.String()),
  webhookUrl: Type.Optional(Type.String()),
  credentials: Type.Optional(
    Type.Object({
      write: CredentialAnswer,
      read: Type.Optional(CredentialAnswer),
      api: Type.Optional(CredentialAnswer),
    }),
  ),
  probe: Type.Optional(ProbeResult),
};

/** A repository as the API shows it: of each credential its kind and its end, never what is secret. */
export const RepositoryAnswer = answerOf('RepositoryAnswer', repositoryProperties);
export type RepositoryView = Static<typeof RepositoryAnswer>;

export const ChangedRepositoryAnswer = answerOf('ChangedRepositoryAnswer', {
  repository: RepositoryAnswer,
  webhookSecret: Type.Optional(Type.String({ description: 'shown once' })),
});

export function viewRepository(row: RepositoryRow, baseUrl: string): RepositoryView {
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
