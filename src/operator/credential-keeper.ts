import type { ClusterApi } from '../kube/cluster-api.ts';
import type { Cluster } from '../resources/cluster.ts';
import { backoffMs } from '../runtime/backoff.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Secret } from '../runtime/secret.ts';
import type { AgentClient } from './agent-client.ts';
import { AgentClients, type AgentClientsDeps } from './agent-clients.ts';
import type { AgentSession } from './agent-session.ts';
import {
  readCredentials,
  removeIssuedCertificate,
  storeCredentials,
  type Credentials,
  type NewCredentials,
} from './credentials.ts';

/** Where a credential that is used from now on came from. */
export type CredentialOrigin = 'found' | 'registered' | 'rotated' | 'recovered';
export type UsableCredentials = Credentials & { readonly token: Secret; readonly clusterId: string };

export interface CredentialKeeperDeps extends AgentClientsDeps {
  readonly api: ClusterApi;
  /** The `Cluster` resource as it is now. */
  readonly cluster: () => Cluster;
  readonly session: AgentSession;
  readonly random: () => number;
  readonly logger: Logger;
  /** Before the session takes it. */
  readonly onCredentials: (credentials: UsableCredentials, origin: CredentialOrigin) => void;
}

const RETRY = { minMs: 1000, maxMs: 30_000 };
/** About two minutes. After that the old credential goes on, and the one that was never saved is never used. */
const SAVE_ATTEMPTS = 8;

/** The credential Secret and what the session is given from it: one change at a time, saved before it is used. */
export class CredentialKeeper implements AsyncDisposable {
  readonly #deps: CredentialKeeperDeps;
  readonly #clients: AgentClients;
  #last: Promise<unknown> = Promise.resolve();
  /** What the session goes by. */
  #used: UsableCredentials | undefined;

  constructor(deps: CredentialKeeperDeps) {
    this.#deps = deps;
    this.#clients = new AgentClients(deps);
  }

  /** Runs `change` once every earlier one has ended, whatever became of it. */
  async exclusive<T>(change: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(change);
    this.#last = mine.catch(() => undefined);
    return await mine;
  }

  /** @throws KubeError */
  async read(signal: AbortSignal): Promise<Credentials> {
    return await readCredentials(this.#deps.api, this.#deps.cluster().metadata.namespace ?? '', signal);
  }

  clientFor(credentials: Credentials): AgentClient {
    const { spec } = this.#deps.cluster();
    const { caCertificate, clientCertificate } = credentials;
    const isShown = spec.security?.mtls?.enabled === true && clientCertificate !== undefined;
    const endpoint = { baseUrl: spec.controlPlaneBaseUrl, caCertificate };
    return this.#clients.for(isShown ? { ...endpoint, clientCertificate } : endpoint);
  }

  /**
   * Gives the session what the Secret holds; every loop goes by it from its next call on. False where the Secret holds
   * no credential, or nobody knows whose.
   */
  use(credentials: Credentials, origin: CredentialOrigin): boolean {
    const { token, clusterId = this.#deps.cluster().status?.clusterId } = credentials;
    if (token === undefined || clusterId === undefined) return false;
    const identity = { token, clusterId };
    const client = this.clientFor(credentials);
    this.#used = { ...credentials, token, clusterId };
    if (!this.#deps.session.uses(client, identity)) {
      this.#deps.onCredentials({ ...credentials, token, clusterId }, origin);
      this.#deps.session.use(client, identity);
    }
    return true;
  }

  /**
   * Saves a credential, however often that takes within bounds: what the control plane gave must not be lost to one failed
   * write.
   *
   * @param replaces the token that the Secret is expected to hold; undefined: whatever it holds
   * @returns false when it holds another one by now, which is used instead
   * @throws KubeError once it is given up
   */
  async save(next: NewCredentials, replaces: Secret | undefined, signal: AbortSignal): Promise<boolean> {
    const { api, cluster, logger, clock, random } = this.#deps;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await storeCredentials(api, cluster(), next, replaces, signal);
      } catch (error) {
        // A registration token is spent by now: nothing but this write can bring back what it was spent for.
        if (signal.aborted || (replaces !== undefined && attempt >= SAVE_ATTEMPTS)) throw error;
        logger.warn({ err: error, attempt }, 'the new credential cannot be saved yet');
        await clock.sleep(backoffMs(RETRY, attempt, random), signal);
      }
    }
  }

  /**
   * Puts back what somebody deleted while the session goes by it: the next process would find nothing. An admin's own
   * certificate is not ours to put back.
   *
   * @returns undefined where there is nothing that works
   * @throws KubeError
   */
  async putBack(signal: AbortSignal): Promise<Credentials | undefined> {
    const { api, cluster, session, logger } = this.#deps;
    const used = this.#used;
    if (used === undefined || session.state !== 'open' || !session.isToken(used.token)) return undefined;
    const { clientCertificate, ...kept } = used;
    const issued = clientCertificate?.from === 'control-plane' ? { clientCertificate } : {};
    await storeCredentials(api, cluster(), { ...kept, ...issued, keepsCertificate: false }, undefined, signal);
    logger.warn('the credential Secret was deleted or emptied; what works is put back');
    return await this.read(signal);
  }

  /** Takes out the certificate that was issued once the cluster is not to show one any more. @throws KubeError */
  async tidy(credentials: Credentials, signal: AbortSignal): Promise<void> {
    const { api, cluster, logger } = this.#deps;
    if (cluster().spec.security?.mtls?.enabled === true) return;
    if (credentials.clientCertificate?.from !== 'control-plane') return;
    await removeIssuedCertificate(api, cluster(), credentials, signal);
    logger.info('security.mtls is off: the client certificate is taken out of the credential Secret');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#clients[Symbol.asyncDispose]();
  }
}
