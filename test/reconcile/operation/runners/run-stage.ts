import { vi } from 'vitest';
import type { ClusterApi } from '../../../../src/kube/cluster-api.ts';
import type {
  OperationRun,
  RunnerDeps,
  RunState,
  TemplateRunner,
} from '../../../../src/reconcile/operation/template-runner.ts';
import type { Operation } from '../../../../src/resources/operation.ts';
import { aNamespace, aPolicy } from '../../manifests.ts';
import { logger } from '../../test-cluster.ts';

const NOW = new Date('2026-03-01T10:00:00Z');
const signal = new AbortController().signal;

export interface RunOptions {
  readonly name?: string;
  readonly uid?: string;
  readonly attempt?: number;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** One try as the operation's reconcile hands it over. */
export function aRun({
  name = 'nightly',
  uid = 'op-uid',
  attempt = 1,
  parameters = {},
}: RunOptions = {}): OperationRun {
  const operation: Operation = {
    apiVersion: 'ops.service.io/v1alpha1',
    kind: 'Operation',
    metadata: { name, namespace: 'shop', uid, generation: 1 },
    spec: { template: 'velero-backup', parameters },
  };
  const deadline = new Date(NOW.getTime() + 3_600_000);
  const policy = aPolicy({ allowedNamespaces: ['shop', 'yard'] });
  return { operation, parameters, attempt, startedAt: NOW, deadline, namespace: aNamespace(), policy, now: NOW };
}

/** A runner on a cluster, driven step by step. */
export class RunStage {
  readonly #runner: TemplateRunner;
  readonly #deps: RunnerDeps;

  constructor(runner: TemplateRunner, api: ClusterApi, more: Partial<RunnerDeps> = {}) {
    this.#runner = runner;
    this.#deps = { api, logger, ...more };
  }

  /** Begins the try; the same again must change nothing. @returns why it cannot begin */
  async start(run: OperationRun): Promise<string | undefined> {
    const refused = await this.#runner.start(this.#deps, run, signal);
    return refused === undefined ? undefined : wordsOf(refused);
  }

  async observe(run: OperationRun): Promise<RunState> {
    return await this.#runner.observe(this.#deps, run, signal);
  }

  /** The first state that is not `running`. */
  async ended(run: OperationRun): Promise<RunState> {
    return await vi.waitFor(
      async () => {
        const state = await this.observe(run);
        if (state.state === 'running') throw new Error(state.message);
        return state;
      },
      { timeout: 30_000, interval: 5 },
    );
  }

  /** Begins and waits for the end, in words. */
  async outcome(run: OperationRun): Promise<string> {
    const refused = await this.start(run);
    return refused ?? wordsOf(await this.ended(run));
  }
}

/** `failed VeleroBackupFailed (final): why` */
export function wordsOf(state: RunState): string {
  switch (state.state) {
    case 'absent':
      return 'absent';
    case 'running':
      return `running: ${state.message}`;
    case 'succeeded':
      return `succeeded ${state.reason}: ${state.message}`;
    case 'failed':
      return `failed ${state.reason}${state.isFinal ? ' (final)' : ''}: ${state.message}`;
  }
}
