import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, request as ask, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { LeaseObject } from '../../src/kube/lease/lease-record.ts';
import type { OperatorWorld } from './operator-world.ts';

const MAIN = join(import.meta.dirname, '../../src/operator/main.ts');

/** An operator as a process of its own, which reaches the API server by a way that notes what it writes. */
export class Replica implements AsyncDisposable {
  readonly process: ChildProcess;
  /** `<method> <path>` of everything but reads. */
  readonly writes: string[] = [];
  readonly log: string[] = [];
  readonly #gate: Server;

  private constructor(world: OperatorWorld, name: string, gate: Server) {
    this.#gate = gate;
    const folder = join(world.stateDir, name);
    mkdirSync(folder);
    const { port } = gate.address() as AddressInfo;
    const kubeconfig = world.cluster.sandbox
      .kubeconfig()
      .replaceAll(world.cluster.sandbox.url, `http://127.0.0.1:${port}`);
    writeFileSync(join(folder, 'kubeconfig'), kubeconfig);
    this.process = spawn(process.execPath, [MAIN], {
      env: {
        PATH: process.env['PATH'],
        SERVICE_OPERATOR_KUBECONFIG: join(folder, 'kubeconfig'),
        SERVICE_OPERATOR_STATE_DIR: join(folder, 'state'),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.process.stderr?.on('data', (part: Buffer) => this.log.push(...String(part).split('\n')));
  }

  static async start(world: OperatorWorld, name: string): Promise<Replica> {
    const gate = createServer();
    const { promise, resolve } = Promise.withResolvers<void>();
    gate.listen(0, '127.0.0.1', resolve);
    await promise;
    const replica = new Replica(world, name, gate);
    const to = world.cluster.sandbox.url;
    gate.on('request', (request, response) => {
      if (request.method !== 'GET')
        replica.writes.push(`${request.method} ${(request.url ?? '').replace(/\?.*$/, '')}`);
      const { method, headers } = request;
      const onward = ask(`${to}${request.url}`, { ...(method === undefined ? {} : { method }), headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      response.on('close', () => onward.destroy());
      request.pipe(onward);
    });
    return replica;
  }

  /** Ends it without a chance to say so. */
  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    if (this.process.exitCode === null && this.process.signalCode === null) await once(this.process, 'exit');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.#gate.closeAllConnections();
    this.#gate.close();
  }
}

export async function leaseOf(world: OperatorWorld): Promise<NonNullable<LeaseObject['spec']>> {
  const ref = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    namespace: 'service-system',
    name: 'service-operator',
  };
  return (await world.cluster.api.get<LeaseObject>(ref))?.spec ?? {};
}

/** Resolves when the Lease has changed hands so often. */
export async function untilTransitions(world: OperatorWorld, transitions: number): Promise<void> {
  await expect
    .poll(async () => (await leaseOf(world)).leaseTransitions, { timeout: 20_000, interval: 50 })
    .toBe(transitions);
}
