import type { HostClient } from './host-client.ts';

/** Calls that GitHub has and Gitea took over from it, below `/repos/{owner}/{name}`. */
export class PullRequestCalls {
  readonly #client: HostClient;
  readonly #base: string;

  constructor(client: HostClient, base: string) {
    this.#client = client;
    this.#base = base;
  }

  /** Undefined: there is none of that number. */
  async get(number: number, signal: AbortSignal): Promise<{ readonly body: unknown } | undefined> {
    const path = `${this.#base}/pulls/${number}`;
    const got = await this.#client.call({ method: 'GET', path, takes: [200, 404] }, signal);
    if (got.status === 200) return got;
    // The same status hides a repository that the credential may not see.
    await this.repository(signal);
    return undefined;
  }

  async repository(signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    const got = await this.#client.call({ method: 'GET', path: this.#base, takes: [200] }, signal);
    return (got.body ?? {}) as Record<string, unknown>;
  }

  async edit(
    number: number,
    body: { readonly title: string; readonly body: string } | { readonly state: 'closed' },
    signal: AbortSignal,
  ): Promise<{ readonly body: unknown }> {
    const path = `${this.#base}/pulls/${number}`;
    // Gitea answers an edit with 201.
    return await this.#client.call({ method: 'PATCH', path, body, takes: [200, 201] }, signal);
  }

  async comment(number: number, markdown: string, signal: AbortSignal): Promise<void> {
    const path = `${this.#base}/issues/${number}/comments`;
    await this.#client.call({ method: 'POST', path, body: { body: markdown }, takes: [201] }, signal);
  }
}
