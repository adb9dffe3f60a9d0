import { vi } from 'vitest';
import { registerAgent, type RunningAgent } from '../admin/running-agent.ts';
import type { Answer, RunningControlPlane } from '../running-control-plane.ts';

/** A cluster whose operator a test plays: it takes jobs and tells how operations stand. */
export class OperationStage {
  readonly plane: RunningControlPlane;
  readonly slug: string;
  readonly agent: RunningAgent;
  #told = 0;

  private constructor(plane: RunningControlPlane, slug: string, agent: RunningAgent) {
    this.plane = plane;
    this.slug = slug;
    this.agent = agent;
  }

  static async create(
    plane: RunningControlPlane,
    slug: string,
    changes: Readonly<Record<string, unknown>>,
  ): Promise<OperationStage> {
    await plane.newCluster(slug, { allowedOperationTemplates: ['scale', 'run-job'], ...changes });
    return new OperationStage(plane, slug, await registerAgent(plane, slug));
  }

  /** Asks for an operation; answers the intent's id. */
  async ask(name: string, more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const body = {
      action: 'operate',
      namespace: 'shop',
      name,
      operationTemplate: 'run-job',
      parameters: { image: 'busybox:1' },
      ...more,
    };
    const answer = await this.plane.call('POST', `/clusters/${this.slug}/intents`, body);
    if (answer.status !== 202) throw new Error(`intent: ${answer.status} ${JSON.stringify(answer.body)}`);
    return String(answer.body['id']);
  }

  async cancel(id: string, body?: Readonly<Record<string, unknown>>): Promise<Answer> {
    return await this.plane.call('POST', `/intents/${id}/cancel`, body);
  }

  /** Id of what asked for the operation of that name; waits for it. */
  async idOf(name: string): Promise<string> {
    return await vi.waitFor(
      () => {
        const [row] = this.plane.query('SELECT id FROM intents WHERE name = ?', name);
        if (row === undefined) throw new Error(`nobody asked for ${name}`);
        return String(row['id']);
      },
      { timeout: 15_000, interval: 20 },
    );
  }

  /** State of an intent, and why. */
  async stateOf(id: string): Promise<string> {
    const { body } = await this.plane.call('GET', `/intents/${id}`);
    return [body['state'], body['reason']].filter((part) => part !== undefined).join(' ');
  }

  async until(id: string, state: string): Promise<void> {
    await vi.waitFor(
      async () => {
        const now = await this.stateOf(id);
        if (!now.startsWith(state)) throw new Error(`${id} is ${now}, not ${state}`);
      },
      { timeout: 15_000, interval: 50 },
    );
  }

  /** The jobs that are offered now: id, and the manifest that each applies. */
  async jobs(): Promise<{ id: string; intentId: string; spec: Record<string, unknown> }[]> {
    const { body } = await this.agent.get(`/api/agent/jobs?cluster=${this.agent.id}&wait=0`);
    const jobs = (body['jobs'] ?? []) as { id: string; payload: Record<string, any> }[]; // oxlint-disable-line typescript/no-explicit-any
    return jobs.map(({ id, payload: manifest }) => ({
      id,
      intentId: String(manifest['metadata'].annotations['app.service.io/intent-id']),
      spec: manifest['spec'] as Record<string, unknown>,
    }));
  }

  /** Tells conditions of an operation as its operator would, by the intent that brought it. */
  async tell(
    name: string,
    intentId: string,
    conditions: readonly { readonly type: string; readonly status?: string; readonly reason: string }[],
    source: { readonly generation?: number; readonly epoch?: number } = {},
  ): Promise<void> {
    this.#told += 1;
    const { generation = 1, epoch = 1 } = source;
    const event = {
      eventKey: `condition/uid-${name}/${conditions.map(({ type }) => type).join('+')}@${this.#told}`,
      kind: 'ConditionTransition',
      resourceRef: {
        apiVersion: 'ops.service.io/v1alpha1',
        kind: 'Operation',
        namespace: 'shop',
        name,
        uid: `uid-${name}`,
        generation,
      },
      conditions: conditions.map(({ status = 'True', ...rest }) => ({
        ...rest,
        status,
        message: 'as told',
        observedGeneration: 1,
        lastTransitionTime: '2026-11-28T10:00:00Z',
      })),
      source: { intentId, epoch, generation },
      sequence: `1.${this.#told}`,
    };
    const answer = await this.agent.post('/api/agent/events', { cluster_id: this.agent.id, events: [event] });
    if (answer.status !== 204) throw new Error(`events: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
}

export const CANCELLED = { type: 'Cancelled', reason: 'OperationCancelled' };
export const SUCCEEDED = { type: 'Succeeded', reason: 'OperationSucceeded' };
export const RUNNING = { type: 'Running', reason: 'OperationRunning' };
