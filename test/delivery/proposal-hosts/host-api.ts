import type { HostApi } from '../../../src/delivery/gitops/proposal-hosts/host-client.ts';
import { HostPauses } from '../../../src/delivery/gitops/proposal-hosts/host-pauses.ts';
import { GiteaHost } from '../../../src/delivery/gitops/proposal-hosts/gitea.ts';
import { GithubHost } from '../../../src/delivery/gitops/proposal-hosts/github.ts';
import { GitlabHost } from '../../../src/delivery/gitops/proposal-hosts/gitlab.ts';
import type { PolledHost } from '../../../src/delivery/gitops/proposal-hosts/polled-host.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { NAME, OWNER, TOKEN, type FakeGitHost, type HostKindShape } from '../../support/git-hosts/fake-host.ts';
import { giteaShape } from '../../support/git-hosts/gitea-shape.ts';
import { githubShape } from '../../support/git-hosts/github-shape.ts';
import { gitlabShape } from '../../support/git-hosts/gitlab-shape.ts';

/** One row a host: its fake, and our end. */
export const HOSTS: readonly {
  readonly shape: HostKindShape;
  readonly open: (api: HostApi) => PolledHost;
}[] = [
  { shape: githubShape, open: (api) => new GithubHost(api) },
  { shape: gitlabShape, open: (api) => new GitlabHost(api) },
  { shape: giteaShape, open: (api) => new GiteaHost(api) },
];

/** The API of a fake; waits between repeats take no time. */
export function apiOf(fake: Pick<FakeGitHost, 'apiUrl'>, overrides: Partial<HostApi> = {}): HostApi {
  const clock = { now: () => systemClock.now(), sleep: async () => undefined };
  return {
    apiUrl: fake.apiUrl,
    owner: OWNER,
    name: NAME,
    token: async () => new Secret(TOKEN),
    fetchLike: fetch,
    pauses: new HostPauses({ clock }),
    clock,
    random: () => 0.5,
    ...overrides,
  };
}
