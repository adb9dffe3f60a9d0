import type { EmbeddedHost } from '../../../git/embedded-host/embedded-host.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { CatalogRefresh } from '../../catalog/catalog-refresh.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { ClientAuthority } from '../../client-authority.ts';
import type { CommitSigning } from '../../commit-signing/commit-signing.ts';
import type { ContactWatch } from '../../contact-watch.ts';
import type { DiscussionChannel } from '../../channel/discussion-channel.ts';
import type { OidcSignIn } from '../../oidc/oidc-sign-in.ts';
import type { LayoutMoves } from '../../git/layout-moves.ts';
import type { RepositoryHistory } from '../../history/repository-history.ts';
import type { Deliveries } from '../../deliveries.ts';
import type { PushProber } from '../../modes/probe-target.ts';
import type { HostAccesses } from '../../git-hosts/host-accesses.ts';
import type { MasterKey } from '../../master-key.ts';
import type { Measuring } from '../../metrics/control-plane-metrics.ts';
import type { PayloadSigner } from '../../payload-signer.ts';
import type { PushConnections } from '../../push/push-connections.ts';
import type { ProposalDiffs } from '../../proposals/proposal-diff.ts';
import type { LastContact } from '../../store/last-contact.ts';
import type { Store } from '../../store/open-store.ts';
import type { ValuesChecker } from '../../values-checker.ts';
import type { InstallLinks } from '../../install-links.ts';
import type { Wakeups } from '../../wakeups.ts';

/** What the routes of the admin API work with. */
export interface AdminDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly changeLog: ChangeLog;
  readonly measuring?: Pick<Measuring, 'read'>;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
  /** Absent: people come in with tokens of the control plane alone. */
  readonly oidc: Pick<OidcSignIn, 'identify' | 'config' | 'metadata'> | undefined;
  readonly masterKey: MasterKey;
  readonly signer: Pick<PayloadSigner, 'approve'>;
  readonly lastContact: Pick<LastContact, 'pending'>;
  readonly contactWatch: Pick<ContactWatch, 'listeningSince'>;
  readonly host: Pick<EmbeddedHost, 'ensureRepository'>;
  readonly hostAccesses: HostAccesses;
  /** For probes; what is delivered goes by the delivery loop. */
  readonly deliveries: Pick<Deliveries, 'open'>;
  readonly pushConnections: PushProber & Pick<PushConnections, 'connect'>;
  /** Where clients and agents reach this control plane, without a slash at its end. */
  readonly baseUrl: () => string;
  readonly installLinks: InstallLinks;
  readonly clientAuthority: Pick<ClientAuthority, 'certificates'>;
  readonly commitSigning: Pick<CommitSigning, 'sign' | 'list' | 'forget' | 'allowedSigners'>;
  readonly history: RepositoryHistory;
  readonly layoutMoves: Pick<LayoutMoves, 'plan' | 'begin' | 'finish'>;
  readonly proposalDiffs: Pick<ProposalDiffs, 'of'>;
  readonly channel: DiscussionChannel;
  readonly catalogRefresh: Pick<CatalogRefresh, 'refresh'>;
  readonly valuesChecker: Pick<ValuesChecker, 'check'>;
}
