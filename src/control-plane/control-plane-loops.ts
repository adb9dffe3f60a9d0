import type { GitopsDelivery } from '../delivery/gitops/write/gitops-delivery.ts';
import type { GitopsTarget } from '../delivery/select-delivery.ts';
import type { EmbeddedHost } from '../git/embedded-host/embedded-host.ts';
import type { CatalogRefresh } from './catalog/catalog-refresh.ts';
import { ApprovalLoop } from './approvals/approval-loop.ts';
import type { ChangeLog } from './changes/change-log.ts';
import type { DiscussionChannel } from './channel/discussion-channel.ts';
import type { ContactWatch } from './contact-watch.ts';
import type { Deliveries } from './deliveries.ts';
import { DeliveryLoop } from './delivery-loop.ts';
import type { HostAccesses } from './git-hosts/host-accesses.ts';
import { ProposalHosts } from './git-hosts/proposal-hosts.ts';
import { RepositoryWatch } from './git-hosts/repository-watch.ts';
import type { GitSources } from './git/git-source.ts';
import type { LayoutMoves } from './git/layout-moves.ts';
import { MirrorLoop } from './git/mirror-loop.ts';
import { RemoteWatch } from './git/remote-watch.ts';
import { TidyLoop } from './git/tidy-loop.ts';
import type { MasterKey } from './master-key.ts';
import type { Measuring } from './metrics/control-plane-metrics.ts';
import { DEFAULT_SWITCH_LIMITS } from './modes/decide-switch.ts';
import { probeSwitch } from './modes/probe-target.ts';
import { SwitchLoop } from './modes/switch-loop.ts';
import type { PayloadSigner } from './payload-signer.ts';
import { HostLoop } from './proposals/host-loop.ts';
import { ProposalLoop } from './proposals/proposal-loop.ts';
import type { PushConnections } from './push/push-connections.ts';
import { PushWatch } from './push/push-watch.ts';
import { signRendered } from './sign-rendered.ts';
import type { ControlPlaneDeps } from './start-control-plane.ts';
import { runExclusive } from './store/exclusive.ts';
import type { LastContact } from './store/last-contact.ts';
import type { Store } from './store/open-store.ts';
import { Upkeep } from './upkeep.ts';
import type { WakeupRelay } from './wakeup-relay.ts';
import type { Wakeups } from './wakeups.ts';

const LAST_CONTACT_EVERY_MS = 5000;

/** What the loops of a control plane work with; none of it is owned. */
export interface LoopParts extends ControlPlaneDeps {
  readonly store: Store;
  readonly measuring: Measuring;
  readonly masterKey: MasterKey;
  readonly wakeups: Wakeups;
  readonly changeLog: ChangeLog;
  readonly relay: WakeupRelay;
  readonly signer: PayloadSigner;
  readonly lastContact: LastContact;
  readonly contactWatch: ContactWatch;
  readonly host: EmbeddedHost;
  readonly hostAccesses: HostAccesses;
  readonly gitSources: GitSources;
  readonly deliveries: Deliveries;
  readonly layoutMoves: LayoutMoves;
  readonly pushConnections: PushConnections;
  readonly channel: DiscussionChannel;
  readonly catalogRefresh: CatalogRefresh;
  readonly open: (target: GitopsTarget) => Promise<GitopsDelivery>;
  readonly baseUrl: () => string;
}

/** The loops of one process, under way until `stop` is aborted. Those that work for the whole fleet run at one replica at a time. */
export function startLoops(parts: LoopParts, stop: AbortSignal): readonly Promise<void>[] {
  const { store, lastContact, deliveries, hostAccesses, logger, signer } = parts;
  const atOneReplica = async (name: string, loop: { run(stop: AbortSignal): Promise<void> }): Promise<void> =>
    await runExclusive(parts, name, async (signal) => await loop.run(signal), stop);
  const deliveryLoop = new DeliveryLoop({
    ...parts,
    open: async (target) => await deliveries.open(target),
    sign: async (rendered) => await signRendered(signer, rendered),
  });
  const probed = { ...parts, db: store.db };
  const switchLoop = new SwitchLoop({
    ...parts,
    probe: async (row, signal) => await probeSwitch(probed, row, signal),
    isDelivering: async (queue) => await deliveryLoop.isDelivering(queue),
    limits: DEFAULT_SWITCH_LIMITS,
  });
  return [
    deliveryLoop.run(stop),
    atOneReplica('mode-switches', switchLoop),
    atOneReplica('remote-watch', new RemoteWatch(parts)),
    atOneReplica('repository-watch', new RepositoryWatch(parts)),
    atOneReplica('upkeep', new Upkeep(parts)),
    atOneReplica('proposals', new ProposalLoop(parts)),
    atOneReplica('approvals', new ApprovalLoop(parts)),
    atOneReplica(
      'proposals-on-hosts',
      new HostLoop({ ...parts, hosts: new ProposalHosts({ ...parts, hostAccesses }) }),
    ),
    atOneReplica('push-credentials', new PushWatch(parts)),
    atOneReplica('catalog-versions', parts.catalogRefresh),
    atOneReplica('tidy', new TidyLoop(parts)),
    atOneReplica('layout-moves', parts.layoutMoves),
    new MirrorLoop({ ...parts, maintain: async (signal) => await deliveries.maintain(signal) }).run(stop),
    parts.channel.run(stop),
    parts.contactWatch.run(stop),
    parts.changeLog.run(stop),
    parts.relay.run(stop),
    lastContact.run(LAST_CONTACT_EVERY_MS, stop, (error) => {
      logger.warn({ err: error }, 'last contacts not stored; trying again');
    }),
  ];
}
