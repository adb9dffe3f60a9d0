import { ProposalHostFault } from '../../delivery/gitops/proposal-hosts/proposal-host.ts';
import { GiteaHost } from '../../delivery/gitops/proposal-hosts/gitea.ts';
import { GithubHost } from '../../delivery/gitops/proposal-hosts/github.ts';
import { GitlabHost } from '../../delivery/gitops/proposal-hosts/gitlab.ts';
import type { HostApi } from '../../delivery/gitops/proposal-hosts/host-client.ts';
import { HostPauses } from '../../delivery/gitops/proposal-hosts/host-pauses.ts';
import type { PolledHost } from '../../delivery/gitops/proposal-hosts/polled-host.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Secret } from '../../runtime/secret.ts';
import type { RepositoryRow } from '../store/schema.ts';
import { GithubAppError } from './github-app-tokens.ts';
import type { HostAccess } from './host-access.ts';
import type { HostAccesses } from './host-accesses.ts';

export interface ProposalHostsDeps {
  readonly hostAccesses: Pick<HostAccesses, 'of'>;
  readonly clock: Clock;
  readonly random: () => number;
}

const TITLES = { github: 'GitHub', gitlab: 'GitLab', gitea: 'Gitea' } as const;

/** The pull and merge requests of repositories on hosts that have such. */
export class ProposalHosts {
  readonly #deps: ProposalHostsDeps;
  /** One for all repositories: a host limits whoever asks, not what is asked for. */
  readonly #pauses: HostPauses;

  constructor(deps: ProposalHostsDeps) {
    this.#deps = deps;
    this.#pauses = new HostPauses(deps);
  }

  /**
   * Undefined: the host has no requests, or nothing is set that opens its API (a deploy key alone).
   *
   * @throws Error where the repository's credentials do not open
   */
  async of(row: RepositoryRow): Promise<{ readonly host: PolledHost; readonly title: string } | undefined> {
    const { host: kind } = row;
    if (kind === null || kind === 'git') return undefined;
    const access = await this.#deps.hostAccesses.of(row);
    const { apiUrl, owner, name } = access.repository;
    if (apiUrl === undefined || !access.hasApiToken) return undefined;
    const { clock, random } = this.#deps;
    const api: HostApi = {
      apiUrl,
      owner,
      name,
      token: async (signal) => await tokenOf(access, signal),
      fetchLike: access.fetchLike,
      pauses: this.#pauses,
      clock,
      random,
    };
    const host = kind === 'github' ? new GithubHost(api) : kind === 'gitlab' ? new GitlabHost(api) : new GiteaHost(api);
    return { host, title: TITLES[kind] };
  }
}

/** A GitHub App that gets no token is a fault of its credential, not of the network. */
async function tokenOf(access: HostAccess, signal: AbortSignal): Promise<Secret> {
  try {
    return await access.apiToken(signal);
  } catch (error) {
    if (!(error instanceof GithubAppError)) throw error;
    throw new ProposalHostFault(error.isLasting ? 'forbidden' : 'unavailable', error.message, { cause: error });
  }
}
