import { randomBytes } from 'node:crypto';
import type { Answer, HttpClient } from './http-client.ts';

/** Where the suite's own clusters may install to; no cluster is behind them, so nothing ever is. */
export const NAMESPACE = 'conformance';
/** The suite's own catalog entry. */
const ENTRY = 'conformance-suite';

export interface OwnCluster {
  readonly id: string;
  readonly registrationToken: string;
}

/** The admin API of the decisions, as far as checks need it. It touches only what it has made itself. */
export class AdminClient {
  readonly #http: HttpClient;
  readonly #token: string;
  readonly #made: string[] = [];

  constructor(http: HttpClient, token: string) {
    this.#http = http;
    this.#token = token;
  }

  async call(method: string, path: string, body?: unknown): Promise<Answer> {
    return await this.#http.send({
      method,
      path: `/api/v1${path}`,
      headers: {
        authorization: `Bearer ${this.#token}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** A call whose success the check builds on. */
  async succeed(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const answer = await this.call(method, path, body);
    if (answer.status >= 300) {
      throw new Error(`the admin API answered ${method} ${path} with ${answer.status}: ${answer.text.slice(0, 500)}`);
    }
    return (answer.json ?? {}) as Record<string, unknown>;
  }

  /** A cluster of the suite's own, in pull mode unless `settings` say otherwise, that may install from the suite's entry. */
  async newCluster(settings: Readonly<Record<string, unknown>> = {}): Promise<OwnCluster> {
    await this.succeed('PUT', `/catalog/${ENTRY}`, {
      chart: { type: 'oci', url: 'oci://example.invalid/charts/conformance', name: 'conformance' },
      versions: '>=1.0.0 <2',
    });
    const answer = await this.succeed('POST', '/clusters', {
      slug: `conformance-${randomBytes(6).toString('hex')}`,
      displayName: 'Conformance suite (may be deleted)',
      allowedNamespaces: [NAMESPACE],
      allowedCatalogEntries: [ENTRY],
      allowedOperationTemplates: [],
      connectivityMode: 'pull',
      ...settings,
    });
    const id = String((answer['cluster'] as { id?: unknown } | undefined)?.id);
    this.#made.push(id);
    return { id, registrationToken: String(answer['registrationToken']) };
  }

  async newRegistrationToken(clusterId: string): Promise<string> {
    return String((await this.succeed('POST', `/clusters/${clusterId}/registration-token`))['registrationToken']);
  }

  /** An intent for an instance `name`; answers the intent's id. */
  async intend(clusterId: string, action: 'install' | 'update' | 'uninstall', name: string): Promise<string> {
    const chart = action === 'uninstall' ? {} : { catalogEntry: ENTRY, chartVersion: '1.0.0', values: { action } };
    const body = { action, namespace: NAMESPACE, name, reason: 'a check of the conformance suite', ...chart };
    return String((await this.succeed('POST', `/clusters/${clusterId}/intents`, body))['id']);
  }

  /** Deletes the clusters that this run has made, and the entry unless another run uses it; answers clusters that stayed. */
  async cleanUp(): Promise<string[]> {
    const left: string[] = [];
    const hasEntry = this.#made.length > 0;
    for (const id of this.#made.splice(0)) {
      // A record that is in use is not deleted by a slip.
      await this.call('POST', `/clusters/${id}/disable`);
      const { status } = await this.call('DELETE', `/clusters/${id}`);
      if (status !== 204 && status !== 404) left.push(id);
    }
    if (hasEntry) await this.call('DELETE', `/catalog/${ENTRY}`);
    return left;
  }
}
