import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { startOperator, type Operator } from '../../src/operator/start-operator.ts';
import type { Condition } from '../../src/protocol/condition.ts';
import type { Cluster } from '../../src/resources/cluster.ts';
import { findCondition } from '../../src/resources/conditions.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { createLogger, type Logger } from '../../src/runtime/logger.ts';
import { startTestCluster, type TestCluster } from '../reconcile/test-cluster.ts';

export const NAMESPACE = 'service-system';

/** A cluster with every kind the operator needs, and operators that come and go on it. */
export class OperatorWorld implements AsyncDisposable {
  readonly cluster: TestCluster;
  readonly stateDir = mkdtempSync(join(tmpdir(), 'operator-'));
  readonly #operators: Operator[] = [];
  readonly #kubeconfig: string;

  private constructor(cluster: TestCluster, kubeconfig: string) {
    this.cluster = cluster;
    this.#kubeconfig = kubeconfig;
  }

  static async start(): Promise<OperatorWorld> {
    const cluster = await startTestCluster();
    const file = new URL('../../crds/ops.service.io_clusters.yaml', import.meta.url);
    await cluster.api.create(parse(await readFile(file, 'utf8')) as KubeObject, 'test');
    await cluster.sandbox.settled();
    return new OperatorWorld(cluster, cluster.sandbox.kubeconfig());
  }

  async start(clock: Clock = systemClock, logger: Logger = createLogger('test', 'silent')): Promise<Operator> {
    const operator = await startOperator(
      {
        namespace: NAMESPACE,
        kubeconfig: { kind: 'text', yaml: this.#kubeconfig },
        listen: { host: '127.0.0.1', port: 0 },
        stateDir: this.stateDir,
        logLevel: 'silent',
      },
      { clock, random: () => 0, logger },
    );
    this.#operators.push(operator);
    return operator;
  }

  async stop(operator: Operator): Promise<void> {
    this.#operators.splice(this.#operators.indexOf(operator), 1);
    await operator[Symbol.asyncDispose]();
  }

  async stopAll(): Promise<void> {
    for (const operator of this.#operators.splice(0)) await operator[Symbol.asyncDispose]();
  }

  /** Ends the operator that started last and starts another. */
  async restart(clock: Clock = systemClock): Promise<void> {
    const last = this.#operators.at(-1);
    if (last !== undefined) await this.stop(last);
    await this.start(clock);
  }

  async join(controlPlaneBaseUrl: string, token?: string, name = 'eu'): Promise<void> {
    const registration = token === undefined ? {} : { registration: { token } };
    await this.cluster.api.create(
      {
        apiVersion: 'ops.service.io/v1alpha1',
        kind: 'Cluster',
        metadata: { name, namespace: NAMESPACE },
        spec: { controlPlaneBaseUrl, ...registration },
      },
      'test',
    );
  }

  async setSpec(spec: Record<string, unknown>): Promise<void> {
    await this.cluster.api.mergePatch(this.#ref('eu'), { spec });
  }

  async annotate(annotations: Record<string, string | null>): Promise<void> {
    await this.cluster.api.mergePatch(this.#ref('eu'), { metadata: { annotations } });
  }

  async delete(): Promise<void> {
    await this.cluster.api.delete(this.#ref('eu'));
  }

  async read(name = 'eu'): Promise<Cluster> {
    const cluster = await this.cluster.api.get<Cluster>(this.#ref(name));
    if (cluster === undefined) throw new Error('there is no Cluster');
    return cluster;
  }

  /** Resolves with the condition once it has this status and reason. */
  async until(type: string, status: string, reason: string, name = 'eu'): Promise<Condition> {
    let found: Condition | undefined;
    await expect
      .poll(
        async () => {
          found = findCondition((await this.read(name)).status?.conditions, type);
          return found === undefined ? undefined : { status: found.status, reason: found.reason };
        },
        { timeout: 30_000, interval: 10 },
      )
      .toEqual({ status, reason });
    if (found === undefined) throw new Error('unreachable');
    return found;
  }

  async secret(name: string): Promise<(KubeObject & { data?: Record<string, string> }) | undefined> {
    return await this.cluster.api.get({ apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopAll();
    await this.cluster[Symbol.asyncDispose]();
    rmSync(this.stateDir, { recursive: true, force: true, maxRetries: 3 });
  }

  #ref(name: string): { apiVersion: string; kind: string; namespace: string; name: string } {
    return { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', namespace: NAMESPACE, name };
  }
}

export function decoded(secret: { readonly data?: Record<string, string> } | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
}
