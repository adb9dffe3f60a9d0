import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AdminClient } from './admin-client.ts';
import { newEncryptionKey } from './agent-identity.ts';
import { isObject } from './check.ts';
import { AGENT_MEDIA_TYPE, ClusterClient } from './cluster-client.ts';
import { HttpClient, type Answer } from './http-client.ts';

export interface Target {
  readonly url: string;
  /** Not used yet, of a cluster that nobody else uses. */
  readonly registrationToken: string;
  readonly adminToken?: string;
  /** PEM roots of the server's certificate. */
  readonly ca?: string;
}

/** What the checks of one run share: the connection, the cluster of the registration token, clusters made for a check. */
export class Stage implements AsyncDisposable {
  readonly http: HttpClient;
  readonly target: Target;
  readonly #admin: AdminClient | undefined;
  readonly #shared = new Map<string, Promise<ClusterClient>>();
  #registration: Promise<Answer> | undefined;
  readonly clusterUid = randomUUID();
  readonly key = newEncryptionKey();

  constructor(target: Target) {
    this.target = target;
    this.http = new HttpClient(target.url, target.ca);
    this.#admin = target.adminToken === undefined ? undefined : new AdminClient(this.http, target.adminToken);
  }

  /** There for checks with `needs: 'admin'`. */
  get admin(): AdminClient {
    if (this.#admin === undefined) throw new Error('this check needs an admin token');
    return this.#admin;
  }

  async register(
    body: Readonly<Record<string, unknown>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const call = {
      method: 'POST',
      path: '/api/agent/register',
      headers: { accept: AGENT_MEDIA_TYPE, 'content-type': AGENT_MEDIA_TYPE, ...headers },
      body: JSON.stringify(body),
    };
    const answer = await this.http.send(call);
    if (answer.status !== 429) return answer;
    // Registrations are counted by address: somebody else may have used them up.
    await sleep(Math.min(Number(answer.headers['retry-after']) || 1, 60) * 1000);
    return await this.http.send(call);
  }

  /** The answer to the one registration with the token that the run was given. */
  async registration(): Promise<Answer> {
    this.#registration ??= this.register({
      token: this.target.registrationToken,
      cluster_uid: this.clusterUid,
      public_key: this.key.publicKey,
      operator_version: '0.0.0-conformance',
    });
    return await this.#registration;
  }

  /** The cluster of the token that the run was given. */
  async cluster(): Promise<ClusterClient> {
    return await this.shared('the given one', async () => this.#clientOf(await this.registration()));
  }

  /** A fresh registered cluster of the suite's own. */
  async newCluster(settings: Readonly<Record<string, unknown>> = {}): Promise<ClusterClient> {
    const { registrationToken } = await this.admin.newCluster(settings);
    return this.#clientOf(
      await this.register({
        token: registrationToken,
        cluster_uid: randomUUID(),
        public_key: this.key.publicKey,
      }),
    );
  }

  /** One of the suite's own that several checks use. */
  async other(): Promise<ClusterClient> {
    return await this.shared('other', async () => await this.newCluster());
  }

  /** Makes a client once under a name. */
  async shared(name: string, make: () => Promise<ClusterClient>): Promise<ClusterClient> {
    const known = this.#shared.get(name) ?? make();
    this.#shared.set(name, known);
    return await known;
  }

  /** Deletes what was made; answers the ids of clusters that could not be deleted. */
  async cleanUp(): Promise<string[]> {
    return (await this.#admin?.cleanUp()) ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.http[Symbol.dispose]();
  }

  #clientOf(answer: Answer): ClusterClient {
    const { json } = answer;
    if (answer.status !== 200 || !isObject(json)) {
      throw new Error(`the registration was answered ${answer.status}: ${answer.text.slice(0, 500)}`);
    }
    const { cluster_id: id, token } = json;
    if (typeof id !== 'string' || typeof token !== 'string') throw new Error('the registration answered no credential');
    return new ClusterClient(this.http, { id, token, key: this.key });
  }
}
