import { randomBytes } from 'node:crypto';
import { acceptIntent } from '../../../src/control-plane/accept-intent.ts';
import { ValuesChecker } from '../../../src/control-plane/values-checker.ts';
import { DeliveryLoop } from '../../../src/control-plane/delivery-loop.ts';
import { StoreJobQueue } from '../../../src/control-plane/jobs/store-job-queue.ts';
import { putCatalogEntry } from '../../../src/control-plane/store/catalog-entries.ts';
import type { ClusterRow, IntentRow, JobRow } from '../../../src/control-plane/store/schema.ts';
import { PullDelivery } from '../../../src/delivery/pull/pull-delivery.ts';
import type { IntentRequest } from '../../../src/intent/intent-request.ts';
import type { Job } from '../../../src/protocol/job.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { INSTALL, PODINFO } from '../running-control-plane.ts';
import { AgentServer, type Agent, type Answer } from './agent-server.ts';

/** A poll that is not awaited yet. */
export interface Held {
  readonly answer: Promise<Answer>;
  ended: boolean;
}

/** The agent half of a control plane with the delivery of jobs behind it, over a real database file. */
export class JobsServer implements AsyncDisposable {
  readonly agents: AgentServer;
  readonly #stop = new AbortController();
  readonly #loop: Promise<void>;

  private constructor(agents: AgentServer) {
    this.agents = agents;
    const { store, wakeups, clock } = agents;
    const queue = new StoreJobQueue({ store, wakeups, clock, randomBytes });
    this.#loop = new DeliveryLoop({
      store,
      wakeups,
      clock,
      random: () => 0,
      logger: createLogger('test', 'silent'),
      sign: async (rendered) => rendered,
      open: async (target) => {
        if (target.mode !== 'pull') throw new Error('only pull mode is delivered here');
        return new PullDelivery(queue, target.clusterId);
      },
    }).run(this.#stop.signal);
  }

  static async start(): Promise<JobsServer> {
    const agents = await AgentServer.start();
    await agents.store.write(async (trx) => {
      await putCatalogEntry(trx, 'org-1', { name: 'podinfo', ...PODINFO, updatedAt: '' } as never);
    });
    return new JobsServer(agents);
  }

  async newAgent(slug: string, changes: Partial<ClusterRow> = {}): Promise<Agent> {
    return await this.agents.newAgent(slug, { connectivity_mode: 'pull', ...changes });
  }

  /** Accepts an intent; answers its id. `install` of podinfo unless `changes` say otherwise. */
  async accept(agent: Agent, changes: Partial<IntentRequest> = {}): Promise<string> {
    const { store, wakeups, clock } = this.agents;
    // Acceptance is ordered by the millisecond.
    clock.advance(1);
    const request = (
      changes.action === undefined ? { ...INSTALL, ...changes } : { namespace: 'shop', name: 'podinfo', ...changes }
    ) as IntentRequest;
    const valuesChecker = new ValuesChecker({ clock });
    const deps = { store, wakeups, clock, randomBytes, masterKey: this.agents.masterKey, valuesChecker };
    return (await acceptIntent(deps, { clusterId: agent.id, request, requestedBy: 'admin', requestKey: undefined })).id;
  }

  /** Accepts an intent and waits for its job. */
  async bring(agent: Agent, changes: Partial<IntentRequest> = {}): Promise<{ intentId: string; jobId: string }> {
    const intentId = await this.accept(agent, changes);
    return { intentId, jobId: (await this.jobOf(intentId)).id };
  }

  async jobOf(intentId: string): Promise<JobRow> {
    return await until(async () => (await this.jobsOf(intentId)).find(({ state }) => state !== 'closed'));
  }

  async jobsOf(intentId: string): Promise<JobRow[]> {
    return await this.agents.store.db.selectFrom('jobs').selectAll().where('intent_id', '=', intentId).execute();
  }

  async job(id: string): Promise<JobRow> {
    return await this.agents.store.db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  }

  async intent(id: string): Promise<IntentRow> {
    return await this.agents.store.db.selectFrom('intents').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  }

  async poll(agent: Agent, wait = 0, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return await this.agents.get(agent, `/api/agent/jobs?cluster=${agent.id}&wait=${wait}`, headers);
  }

  /** A poll that is held, once the server has come to its wait. */
  async hold(agent: Agent, wait = 30, headers: Readonly<Record<string, string>> = {}): Promise<Held> {
    const held: Held = { answer: this.poll(agent, wait, headers), ended: false };
    void held.answer.finally(() => {
      held.ended = true;
    });
    await turns(50);
    return held;
  }

  async ack(agent: Agent, jobId: string): Promise<Answer> {
    return await this.agents.post(agent, `/api/agent/jobs/${jobId}/ack`, undefined);
  }

  async status(agent: Agent, jobId: string, body: unknown): Promise<Answer> {
    return await this.agents.post(agent, `/api/agent/jobs/${jobId}/status`, body);
  }

  async result(agent: Agent, jobId: string, body: unknown): Promise<Answer> {
    return await this.agents.post(agent, `/api/agent/jobs/${jobId}/result`, body);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await this.agents[Symbol.asyncDispose]();
  }
}

export function jobsIn(answer: Answer): Job[] {
  return (answer.body as { jobs: Job[] }).jobs;
}

/** Turns of the event loop: what can go on without time has gone on. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** Looks again at each turn until there is something; signing and PostgreSQL take real time, so that is what bounds it. */
export async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + 10_000;
  while (performance.now() < end) {
    const found = await look();
    if (found !== undefined) return found;
    await turns(1);
  }
  throw new Error('nothing came within 10 s');
}
