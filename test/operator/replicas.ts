import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, request as askPlain, type Server } from 'node:http';
import { request as askSecure } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import type { LeaseObject } from '../../src/kube/lease/lease-record.ts';

const MAIN = join(import.meta.dirname, '../../src/operator/main.ts');

/** The API server that replicas are let at, and where their files go. */
export interface ReplicaPlace {
  readonly url: string;
  /** With HTTPS. */
  readonly caPem?: string;
  /** For that address, with a token. */
  readonly kubeconfig: string;
  readonly folder: string;
}

/** A request that may change something. */
export interface Write {
  /** `<method> <path>`; the method of a server-side apply is `APPLY`. */
  readonly call: string;
  /** What it was answered with; undefined while, or for ever where, no answer came. */
  status: number | undefined;
}

/** An operator as a process of its own, which reaches the API server by a way that notes what it writes. */
export class Replica implements AsyncDisposable {
  readonly process: ChildProcess;
  readonly writes: Write[] = [];
  readonly log: string[] = [];
  readonly #gate: Server;
  #onWrite: (call: string) => void = () => undefined;

  private constructor(place: ReplicaPlace, name: string, gate: Server) {
    this.#gate = gate;
    const folder = join(place.folder, name);
    mkdirSync(folder);
    const { port } = gate.address() as AddressInfo;
    const kubeconfig = place.kubeconfig.replaceAll(place.url, `http://127.0.0.1:${port}`);
    writeFileSync(join(folder, 'kubeconfig'), kubeconfig, { mode: 0o600 });
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

  static async start(place: ReplicaPlace, name: string): Promise<Replica> {
    const gate = createServer();
    const { promise, resolve } = Promise.withResolvers<void>();
    gate.listen(0, '127.0.0.1', resolve);
    await promise;
    const replica = new Replica(place, name, gate);
    const ask = place.caPem === undefined ? askPlain : askSecure;
    const trust = place.caPem === undefined ? {} : { ca: place.caPem };
    gate.on('request', (request, response) => {
      const { method = 'GET', headers } = request;
      const verb = headers['content-type'] === 'application/apply-patch+yaml' ? 'APPLY' : method;
      const write: Write = { call: `${verb} ${(request.url ?? '').replace(/\?.*$/, '')}`, status: undefined };
      if (method !== 'GET') replica.#note(write);
      const onward = ask(`${place.url}${request.url}`, { ...trust, method, headers }, (answer) => {
        write.status = answer.statusCode;
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        // A watch is open before there is anything to tell.
        response.flushHeaders();
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

  /** Kills it as so many of the writes that are meant have left it; resolves with the time of it in milliseconds. */
  async killedAtWrite(count: number, isMeant: (call: string) => boolean): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    let seen = 0;
    this.#onWrite = (call) => {
      if (!isMeant(call)) return;
      seen += 1;
      if (seen !== count) return;
      this.process.kill('SIGKILL');
      resolve(Date.now());
    };
    return await promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.#gate.closeAllConnections();
    this.#gate.close();
  }

  #note(write: Write): void {
    this.writes.push(write);
    this.#onWrite(write.call);
  }
}

export async function leaseOf(api: ClusterApi): Promise<NonNullable<LeaseObject['spec']>> {
  const ref = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    namespace: 'service-system',
    name: 'service-operator',
  };
  return (await api.get<LeaseObject>(ref))?.spec ?? {};
}
