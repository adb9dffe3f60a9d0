import { expect } from 'vitest';
import { moveOwnership } from '../../src/kube/move-ownership.ts';
import type { AgentEvent } from '../../src/protocol/event.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { anInstance, type InstanceOptions } from '../reconcile/manifests.ts';
import { JobStage, type JobStageOptions } from './jobs/job-stage.ts';

const OBJECTS = /\/namespaces\/shop\/(applicationinstances|operations)\/([^/]+)$/;
const PUSH = { fieldManager: 'service-control-plane' };
const PUSH_META = { fieldManager: 'service-control-plane-meta' };

/** A stage on which the mode changes: what was written and what was told, in the order in which both were. */
export class ModeStage implements AsyncDisposable {
  readonly jobs: JobStage;
  /** `write <name> <source>`, `delete <name>` by the operator; `told <epoch>` where an event about the Cluster names a higher one. */
  readonly timeline: string[] = [];
  #told: number | undefined;

  private constructor(jobs: JobStage) {
    this.jobs = jobs;
    jobs.world.cluster.sandbox.audit.listen(({ method, path, query, answer }) => {
      const [, , name] = OBJECTS.exec(path) ?? [];
      const manager = query.get('fieldManager');
      if (name === undefined || manager === 'service-control-plane' || manager === 'test') return;
      if (method === 'DELETE') this.timeline.push(`delete ${name}`);
      if (method !== 'PATCH' || manager !== 'service-operator') return;
      this.timeline.push(`write ${name} ${answer.metadata.annotations?.['app.service.io/source'] ?? ''}`);
    });
    const { intercept } = jobs.plane;
    jobs.plane.intercept = (request, response) => {
      if (request.path === '/api/agent/events') {
        for (const event of (request.body as { readonly events: readonly AgentEvent[] }).events) this.#note(event);
      }
      return intercept(request, response);
    };
  }

  static async start(options: JobStageOptions = {}): Promise<ModeStage> {
    const stage = new ModeStage(await JobStage.start(options));
    await expect
      .poll(async () => (await stage.jobs.world.read()).status?.deliveryEpoch, { timeout: 15_000, interval: 10 })
      .toBe(options.config?.delivery_epoch ?? 1);
    return stage;
  }

  /** The control plane changes the mode, and waits for the word that nothing of before is under way. */
  async change(connectivity_mode: 'pull' | 'push' | 'gitops', delivery_epoch: number): Promise<void> {
    this.jobs.plane.configure({ connectivity_mode, delivery_epoch });
    await expect
      .poll(
        () => {
          // This queue does not compare revisions: a poll that comes after the change is held like any other.
          this.jobs.plane.queue.wake();
          return this.#told;
        },
        { timeout: 15_000, interval: 10 },
      )
      .toBe(delivery_epoch);
  }

  /** As the control plane applies it in push mode. */
  async push(options: InstanceOptions): Promise<KubeObject> {
    const { api } = this.jobs.world.cluster;
    const live = await this.jobs.instance(options.name);
    if (live !== undefined) await moveOwnership(api, live, { from: 'service-operator', to: PUSH.fieldManager });
    return (await api.apply<KubeObject>(anInstance(options), PUSH)).object;
  }

  /** As it deletes in push mode: marked, with the pair of the tombstone, then deleted. */
  async pushTombstone(source: string, intentId: string): Promise<void> {
    const { api } = this.jobs.world.cluster;
    const annotations = { 'app.service.io/tombstone': intentId, 'app.service.io/tombstone-source': source };
    const ref = {
      apiVersion: 'apps.service.io/v1alpha1',
      kind: 'ApplicationInstance',
      namespace: 'shop',
      name: 'podinfo',
    };
    const marked = await api.mergePatch<KubeObject>(ref, { metadata: { annotations } }, PUSH_META);
    await api.delete(ref, { uid: marked.metadata.uid ?? '' });
  }

  /** Events about an object, as `<type>=<status> <reason> <mode> <epoch>.<generation> <intent>`. */
  said(name = 'podinfo'): readonly string[] {
    return this.jobs.plane.events
      .filter(({ resourceRef }) => resourceRef.name === name)
      .flatMap(({ conditions, source }) =>
        conditions.map(
          ({ type, status, reason }) =>
            `${type}=${status} ${reason} ${source?.mode} ${source?.epoch}.${source?.generation} ${source?.intentId}`,
        ),
      );
  }

  async untilSaid(text: string, name?: string): Promise<void> {
    await expect.poll(() => this.said(name), { timeout: 15_000, interval: 10 }).toContain(text);
  }

  /** Entries of the inventory about one object: what is there, and what is remembered of it. */
  async inventory(name = 'podinfo'): Promise<readonly Record<string, unknown>[]> {
    const ref = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: 'service-system',
      name: 'service-operator-inventory',
    };
    const map = await this.jobs.world.cluster.api.get<KubeObject & { readonly data?: Record<string, string> }>(ref);
    return Object.entries(map?.data ?? {})
      .filter(([key]) => key !== 'source')
      .map(([, text]) => JSON.parse(text) as Record<string, unknown>)
      .filter((record) => record['name'] === name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.jobs[Symbol.asyncDispose]();
  }

  #note({ resourceRef, source }: AgentEvent): void {
    if (resourceRef.kind !== 'Cluster' || source?.epoch === undefined || source.epoch <= (this.#told ?? 1)) return;
    this.#told = source.epoch;
    this.timeline.push(`told ${source.epoch}`);
  }
}
