import type { GitTarget } from '../delivery/gitops/read/git-target.ts';
import { GitCredential, type AgentConfig } from '../protocol/agent-config.ts';
import { decryptWith } from '../protocol/jwe.ts';
import { compileParser } from '../protocol/parse.ts';
import type { KeyRing } from './keypair.ts';

const parseCredential = compileParser(GitCredential);

/**
 * Where to read in gitops mode, with the read credential opened; undefined in any other mode.
 *
 * @throws JweError when the credential was sealed to a key that this cluster does not have
 */
export async function openGitTarget(
  config: AgentConfig,
  keys: Pick<KeyRing, 'ring'> | undefined,
  host: { readonly baseUrl: string; readonly caCertificate: string },
): Promise<GitTarget | undefined> {
  if (config.connectivity_mode !== 'gitops' || config.git === undefined) return undefined;
  const { url, branch, path, desired_revision: desiredRevision, credential_jwe: jwe, credential } = config.git;
  const opened =
    jwe === undefined || keys === undefined
      ? credential
      : parseCredential(JSON.parse((await decryptWith(keys.ring, jwe)).expose()));
  // The pinned roots are the control plane's; a Git host elsewhere has a certificate of its own.
  const pinned = host.caCertificate !== '' && URL.canParse(url) && new URL(url).origin === new URL(host.baseUrl).origin;
  const roots = config.git.ca_certificate ?? (pinned ? host.caCertificate : undefined);
  return {
    url,
    branch,
    path: path.replace(/^\/+|\/+$/g, ''),
    ...(desiredRevision === undefined ? {} : { desiredRevision }),
    ...(opened === undefined ? {} : { credential: opened }),
    ...(roots === undefined ? {} : { caCertificate: roots }),
    ...(config.git.prune_on_removal === true ? { pruneOnRemoval: true } : {}),
    ...(config.git.prune_breaker === undefined ? {} : { breaker: config.git.prune_breaker }),
    ...(config.git.allowed_signers === undefined ? {} : { allowedSigners: config.git.allowed_signers }),
    ...(config.git.trusted_revision === undefined ? {} : { trustedRevision: config.git.trusted_revision }),
    ...(config.git.accepted_removals === undefined ? {} : { acceptedRemovals: config.git.accepted_removals }),
  };
}
