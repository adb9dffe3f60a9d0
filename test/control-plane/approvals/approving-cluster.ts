import { decodeProtectedHeader } from 'jose';
import { vi } from 'vitest';
import type { ApprovalStatement } from '../../../src/protocol/approval-statement.ts';
import type { Answer, RunningControlPlane } from '../running-control-plane.ts';

export const RESTART = {
  action: 'operate',
  namespace: 'shop',
  name: 'restart-web',
  operationTemplate: 'rollout-restart',
  parameters: { name: 'web' },
};

interface Manifest {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: Record<string, unknown> & { readonly approval?: { readonly statement?: string } };
}

/** A cluster that takes jobs, on which restarts need an approval, and people of its own. */
export class ApprovingCluster {
  readonly #plane: RunningControlPlane;
  readonly slug: string;
  readonly id: string;
  readonly #tokens = new Map<string, string>();

  private constructor(plane: RunningControlPlane, slug: string, id: string) {
    this.#plane = plane;
    this.slug = slug;
    this.id = id;
  }

  static async create(
    plane: RunningControlPlane,
    slug: string,
    changes: Readonly<Record<string, unknown>> = {},
  ): Promise<ApprovingCluster> {
    await plane.putPodinfo();
    const id = await plane.newCluster(slug, { connectivityMode: 'pull', ...changes });
    return new ApprovingCluster(plane, slug, id);
  }

  /** What restarts ask for from now on; undefined: nothing. */
  async requires(approval: Readonly<Record<string, unknown>> | undefined): Promise<void> {
    const body = approval === undefined ? {} : { approval };
    const answer = await this.#plane.call('PUT', '/operation-templates/rollout-restart', body);
    if (answer.status !== 200) throw new Error(`template: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  /** A token of that name; made when it is first asked for. */
  async token(name: string, roles: readonly string[] = []): Promise<string> {
    const known = this.#tokens.get(name);
    if (known !== undefined) return known;
    const { body } = await this.#plane.call('POST', '/admin-tokens', { name: `${name}-${this.slug}`, roles });
    this.#tokens.set(name, String(body['token']));
    return String(body['token']);
  }

  forget(name: string): void {
    this.#tokens.delete(name);
  }

  /** An intent by the admin, unless by somebody else; answers its id. */
  async ask(intent: Readonly<Record<string, unknown>> = {}, by?: string): Promise<string> {
    const options = by === undefined ? {} : { token: await this.token(by) };
    const answer = await this.#plane.call('POST', `/clusters/${this.slug}/intents`, { ...RESTART, ...intent }, options);
    if (answer.status !== 202) throw new Error(`intent: ${answer.status} ${JSON.stringify(answer.body)}`);
    return String(answer.body['id']);
  }

  async act(intent: string, verb: 'approve' | 'reject', by: string, body?: unknown): Promise<Answer> {
    return await this.#plane.call('POST', `/intents/${intent}/${verb}`, body, { token: await this.token(by) });
  }

  async intent(id: string): Promise<Answer['body']> {
    return (await this.#plane.call('GET', `/intents/${id}`)).body;
  }

  async approval(intentId: string): Promise<Answer['body']> {
    const { approval } = await this.intent(intentId);
    return (await this.#plane.call('GET', `/approvals/${approval.id}`)).body;
  }

  async untilApproval(intentId: string, state: string): Promise<Answer['body']> {
    return await vi.waitFor(
      async () => {
        const approval = await this.approval(intentId);
        if (approval['state'] !== state) throw new Error(`approval: ${JSON.stringify(approval)}`);
        return approval;
      },
      { timeout: 10_000, interval: 10 },
    );
  }

  /** What was put into the cluster's queue for an intent. */
  jobs(intentId: string): readonly Manifest[] {
    return this.#plane
      .query('SELECT payload FROM jobs WHERE intent_id = ? ORDER BY created_at, id', intentId)
      .map(({ payload }) => JSON.parse(String(payload)) as Manifest);
  }

  /** Entries of the audit log about the cluster with these words in their kinds, the oldest first. */
  async audit(kinds: RegExp): Promise<Answer['body'][]> {
    const { body } = await this.#plane.call('GET', `/audit?cluster=${this.slug}&limit=500`);
    return body['items'].filter(({ kind }: { kind: string }) => kinds.test(kind)).reverse();
  }

  statement(intentId: string): string {
    const [row] = this.#plane.query('SELECT statement FROM approvals WHERE intent_id = ?', intentId);
    return String(row?.['statement']);
  }
}

/** What a statement says, and who signed it. Not verified here. */
export function readStatement(text: string): { readonly claims: ApprovalStatement; readonly kid: string | undefined } {
  const claims = JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString('utf8')) as ApprovalStatement;
  return { claims, kid: decodeProtectedHeader(text).kid };
}
