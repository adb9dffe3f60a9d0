import { vi } from 'vitest';
import { INSTALL, type Answer, type RunningControlPlane } from '../running-control-plane.ts';

/** A gitops cluster whose intents are proposed, and who may approve them. */
export class ReviewedCluster {
  readonly #plane: RunningControlPlane;
  readonly slug: string;
  readonly #tokens = new Map<string, string>();

  private constructor(plane: RunningControlPlane, slug: string) {
    this.#plane = plane;
    this.slug = slug;
  }

  static async create(
    plane: RunningControlPlane,
    slug: string,
    git: Readonly<Record<string, unknown>> = {},
  ): Promise<ReviewedCluster> {
    await plane.putPodinfo();
    await plane.newCluster(slug, { git: { review: 'proposal', ...git } });
    return new ReviewedCluster(plane, slug);
  }

  /** A token of that name; made when it is first asked for. */
  async token(name: string, roles: readonly string[] = []): Promise<string> {
    const known = this.#tokens.get(name);
    if (known !== undefined) return known;
    const { body } = await this.#plane.call('POST', '/admin-tokens', { name: `${name}-${this.slug}`, roles });
    const token = String(body['token']);
    this.#tokens.set(name, token);
    return token;
  }

  /** An intent; answers its id. Installs podinfo as `name` unless it says something else. */
  async ask(intent: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const answer = await this.#plane.call('POST', `/clusters/${this.slug}/intents`, { ...INSTALL, ...intent });
    if (answer.status !== 202) throw new Error(`intent: ${answer.status} ${JSON.stringify(answer.body)}`);
    return String(answer.body['id']);
  }

  /** An intent that has been proposed; answers the proposal. */
  async propose(intent: Readonly<Record<string, unknown>> = {}): Promise<Answer['body']> {
    const { proposal } = await this.#plane.until(await this.ask(intent), 'proposed');
    return await this.show(String(proposal.id));
  }

  async show(id: string): Promise<Answer['body']> {
    return (await this.#plane.call('GET', `/proposals/${id}`)).body;
  }

  async act(id: string, verb: string, by = 'anna', body?: Readonly<Record<string, unknown>>): Promise<Answer> {
    return await this.#plane.call('POST', `/proposals/${id}/${verb}`, body, { token: await this.token(by) });
  }

  async until(id: string, state: string, revision?: number): Promise<Answer['body']> {
    return await vi.waitFor(
      async () => {
        const proposal = await this.show(id);
        const isThere = proposal['state'] === state && (revision === undefined || proposal['revision'] === revision);
        if (!isThere || proposal['blobs'].length === 0) throw new Error(`proposal: ${JSON.stringify(proposal)}`);
        return proposal;
      },
      { timeout: 10_000, interval: 10 },
    );
  }
}
