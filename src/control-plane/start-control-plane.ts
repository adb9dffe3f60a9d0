import { join } from 'node:path';
import type { GitopsDelivery } from '../delivery/gitops/write/gitops-delivery.ts';
import type { GitopsTarget } from '../delivery/select-delivery.ts';
import { EmbeddedHost } from '../git/embedded-host/embedded-host.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Secret } from '../runtime/secret.ts';
import { CatalogRefresh } from './catalog/catalog-refresh.ts';
import { ChangeLog } from './changes/change-log.ts';
import { ClientAuthority } from './client-authority.ts';
import { clientCertificateSettings } from './client-certificate-config.ts';
import { ControlPlaneMetrics } from './metrics/control-plane-metrics.ts';
import { measureProcess } from './metrics/measure-process.ts';
import { CommitSigning } from './commit-signing/commit-signing.ts';
import type { ControlPlaneConfig } from './config.ts';
import { DiscussionChannel } from './channel/discussion-channel.ts';
import { ContactWatch } from './contact-watch.ts';
import { startLoops } from './control-plane-loops.ts';
import { prepareDataFolders } from './data-folders.ts';
import { Deliveries } from './deliveries.ts';
import { makeFirstAdmin, prepareFirstStart } from './first-start.ts';
import { GitFolder } from './git/git-folder.ts';
import { listenForGit } from './git/git-listener.ts';
import { HostAccesses } from './git-hosts/host-accesses.ts';
import { GitSources } from './git/git-source.ts';
import { RepositoryHistory } from './history/repository-history.ts';
import { adminApi } from './http/admin/admin-api.ts';
import { agentRoutes } from './http/agent/agent-routes.ts';
import { authorizeGit, gitRoutes } from './http/git.ts';
import { gitHostWebhookRoutes } from './http/git-host-webhooks.ts';
import { metricsRoute } from './http/metrics.ts';
import { installRoutes } from './http/install.ts';
import { pageRoutes } from './http/web-page.ts';
import { close, listen } from './http/listen.ts';
import { createHttpServer } from './http/server.ts';
import { InstallLinks } from './install-links.ts';
import { LayoutMoves } from './git/layout-moves.ts';
import { openMasterKey } from './master-key.ts';
import { OidcSignIn } from './oidc/oidc-sign-in.ts';
import { ProposalDiffs } from './proposals/proposal-diff.ts';
import { PayloadSigner } from './payload-signer.ts';
import { deliverByPush } from './push/deliver-by-push.ts';
import { PushConnections } from './push/push-connections.ts';
import { StoreJobQueue } from './jobs/store-job-queue.ts';
import { RefusalAudit } from './refusal-audit.ts';
import { requireSameMasterKey } from './store/installation.ts';
import { LastContact } from './store/last-contact.ts';
import { openStore } from './store/open-store.ts';
import { signProjection } from './commit-signing/sign-projection.ts';
import { readTlsFiles } from './tls-files.ts';
import { ValuesChecker } from './values-checker.ts';
import { WakeupRelay } from './wakeup-relay.ts';
import { Wakeups } from './wakeups.ts';

const GIT_PROCESSES = 8;
const GIT_TIMEOUT_MS = 55_000;

export interface ControlPlaneDeps {
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  /** Default: the real one. Tests end the program at one of its writes. */
  readonly openStore?: typeof openStore;
}

/** A running control plane. Disposing drains it: deliveries in flight, held requests, answers, then the store. */
export interface ControlPlane extends AsyncDisposable {
  /** Where it is reached, without a slash at its end. */
  readonly url: string;
  /** Only when this start made it: it is stored as a hash and never shown again. */
  readonly adminToken?: Secret;
  /** Never resolves; rejects when a loop ended by a fault that it should have survived. */
  readonly failed: Promise<never>;
}

/**
 * Starts the control plane: store, Git host, HTTP server, loops.
 *
 * @throws ConfigError, or Error with one line that says what to do (data in use, from a newer version, port taken)
 */
export async function startControlPlane(config: ControlPlaneConfig, deps: ControlPlaneDeps): Promise<ControlPlane> {
  const { clock, logger, random, randomBytes, openStore: openDatabase = openStore } = deps;
  await using started = new AsyncDisposableStack();
  const tls = config.tls === undefined ? undefined : await readTlsFiles(config.tls);
  if (tls?.root === '' && !tls.isPublic) {
    logger.warn(
      'SERVICE_TLS_CERT does not hold the self-signed root of its chain and no public root signed it: operators verify this server only by a root that an admin put into ca.crt of service-operator-credentials; add the root to the file',
    );
  }
  prepareDataFolders(config);
  const store = started.use(await openDatabase({ url: config.databaseUrl.expose(), clock, logger, random }));
  const masterKey = openMasterKey({ file: config.masterKeyFile, randomBytes });
  await requireSameMasterKey(store, masterKey);
  const firstStart = { ...deps, store, adminToken: config.adminToken, issuer: config.oidc?.issuer };
  await prepareFirstStart(firstStart);
  const clientAuthority = new ClientAuthority({ store, masterKey, clock, randomBytes });
  const clientCertificates = await clientCertificateSettings(config);
  const wakeups = new Wakeups({ clock });
  const metrics = new ControlPlaneMetrics({ store, clock, logger });
  measureProcess(metrics, { store, certificate: tls?.cert, clock });
  const changeLog = new ChangeLog({ store, wakeups, clock, logger });
  const relay = await WakeupRelay.start({ ...deps, store, wakeups });
  const signer = new PayloadSigner({ store, masterKey, clock });
  const commitSigning = new CommitSigning({ store, masterKey, clock, randomBytes, wakeups });
  const lastContact = started.use(new LastContact({ store, clock }));
  const contactWatch = new ContactWatch({ store, wakeups, lastContact, clock, logger });
  const gitFolder = new GitFolder({ store, dataDir: config.dataDir });
  await gitFolder.claimIfInUse();
  const host = new EmbeddedHost({
    root: join(config.dataDir, 'git'),
    claimRoot: async () => await gitFolder.claim(),
    authorize: authorizeGit({ store, clock }),
    logger,
    clock,
    maxProcesses: GIT_PROCESSES,
    timeoutMs: GIT_TIMEOUT_MS,
    signProjection: signProjection(commitSigning),
  });

  let url = config.baseUrl ?? '';
  const baseUrl = (): string => url;
  const installLinks = new InstallLinks({ key: masterKey.derive('install-links'), clock, baseUrl });
  const hostAccesses = started.use(
    new HostAccesses({ masterKey, clock, random, rules: { allowPrivate: config.gitAllowPrivate } }),
  );
  const gitSources = new GitSources({
    store,
    masterKey,
    hostAccesses,
    clock,
    randomBytes,
    baseUrl,
    commitSigning,
  });
  // Clients are told which authorities count; what counts is asked again at each request.
  const clientCa = async (): Promise<string> =>
    [...(await clientAuthority.certificates()), ...clientCertificates.authorities].join('');
  const app = createHttpServer({
    clock,
    logger,
    randomBytes,
    ready: async () => await store.ping(),
    ...(tls === undefined ? {} : { tls: { cert: tls.cert, key: tls.key, ca: await clientCa() } }),
    trustedProxies: config.trustedProxies,
  });
  const oidc = config.oidc === undefined ? undefined : started.use(new OidcSignIn(config.oidc, { ...deps, store }));
  const channel = started.use(
    new DiscussionChannel({
      ...deps,
      measuring: metrics,
      store,
      wakeups,
      masterKey,
      allowPrivate: config.channelAllowPrivate,
    }),
  );
  const catalogRefresh = started.use(
    new CatalogRefresh({ ...deps, store, masterKey, allowPrivate: config.catalogAllowPrivate }),
  );
  const pushConnections = started.use(
    new PushConnections({
      ...deps,
      store,
      masterKey,
      deliverBy: deliverByPush({ store, clock }),
    }),
  );
  // Known once the server listens.
  let hostUrl = '';
  const deliveries = started.use(
    new Deliveries({
      ...deps,
      store,
      host,
      hostAccesses,
      signCommit: async (organizationId, payload) => await commitSigning.sign(organizationId, payload),
      push: pushConnections,
      jobs: new StoreJobQueue({ ...deps, store, wakeups, jobLifetimeMs: config.jobLifetimeMs }),
      mirrorDir: join(config.dataDir, 'mirrors'),
      layoutRecord: (repositoryId) => layoutMoves.recordOf(repositoryId),
      hostUrl: () => hostUrl,
    }),
  );
  const open = async (target: GitopsTarget): Promise<GitopsDelivery> => await deliveries.open(target);
  const layoutMoves = new LayoutMoves({ ...deps, store, wakeups, open });
  const refusals = new RefusalAudit({ store, clock });
  metricsRoute(app, { store, clock, oidc, metrics, refusals, isPublic: config.metricsPublic });
  adminApi(app, {
    store,
    measuring: metrics,
    masterKey,
    signer,
    wakeups,
    changeLog,
    clock,
    randomBytes,
    lastContact,
    host,
    hostAccesses,
    deliveries,
    pushConnections,
    baseUrl,
    installLinks,
    channel,
    contactWatch,
    clientAuthority,
    commitSigning,
    oidc,
    layoutMoves,
    history: new RepositoryHistory({ open }),
    proposalDiffs: new ProposalDiffs({ logger, open }),
    catalogRefresh,
    valuesChecker: started.use(new ValuesChecker({ clock })),
  });
  installRoutes(app, { store, links: installLinks, baseUrl, operatorImage: config.operatorImage });
  agentRoutes(app, {
    store,
    measuring: metrics,
    wakeups,
    clock,
    random,
    randomBytes,
    masterKey,
    signer,
    lastContact,
    logger,
    caCertificate: tls?.root ?? '',
    clientAuthority,
    clientCertificates,
    rateLimits: config.rateLimits,
    gitSourceFor: async (cluster) => await gitSources.of(cluster),
  });
  gitRoutes(app, { host });
  gitHostWebhookRoutes(app, { ...deps, store, wakeups, hostAccesses });
  pageRoutes(app, { oidc, clock });
  started.defer(async () => await close(app, host, clock));
  const ownUrl = await listen(app, config, tls === undefined ? 'http' : 'https');
  if (url === '') url = ownUrl;

  hostUrl = tls === undefined ? ownUrl : started.use(await listenForGit(host)).url;
  const adminToken = await makeFirstAdmin(firstStart);
  const stop = new AbortController();
  const loops = startLoops(
    {
      ...deps,
      measuring: metrics,
      store,
      masterKey,
      wakeups,
      changeLog,
      relay,
      signer,
      lastContact,
      contactWatch,
      host,
      hostAccesses,
      gitSources,
      deliveries,
      layoutMoves,
      pushConnections,
      channel,
      catalogRefresh,
      open,
      baseUrl,
    },
    stop.signal,
  );
  started.defer(async () => {
    stop.abort(new Error('the control plane is stopping'));
    await Promise.allSettled(loops);
  });
  const failed = Promise.all(loops).then(async () => await new Promise<never>(() => undefined));
  // Whoever starts it may look at `failed` later or not at all.
  failed.catch(() => undefined);

  const held = started.move();
  return {
    url,
    ...(adminToken === undefined ? {} : { adminToken }),
    failed,
    [Symbol.asyncDispose]: async () => await held.disposeAsync(),
  };
}
