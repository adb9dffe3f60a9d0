import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ClusterClient, type AgentCall } from '../../conformance/cluster-client.ts';
import { HttpClient, type Answer } from '../../conformance/http-client.ts';
import { newEncryptionKey } from '../../conformance/agent-identity.ts';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const NO_LIMITS = {
  SERVICE_RATE_LIMIT_POLLS: '1000000',
  SERVICE_RATE_LIMIT_WRITES: '1000000',
  SERVICE_RATE_LIMIT_EVENTS: '1000000',
  SERVICE_RATE_LIMIT_REGISTER: '1000000',
};

/** 20 rotations a minute for each. */
const ROTATING = 12;

/** An endpoint that takes a body, and one body that it would take. */
export interface Endpoint {
  readonly name: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** JSON pointers of what may not be missing. */
  readonly required: readonly string[];
  /** JSON pointers of strings and their greatest length. */
  readonly longest: Readonly<Record<string, number>>;
  /** Without a credential and a MAC. */
  readonly open?: boolean;
}

/** A control plane over real HTTP with a cluster that has a job open, and one that has not registered yet. */
export class BadInputStage implements AsyncDisposable {
  readonly plane: RunningControlPlane;
  readonly http: HttpClient;
  readonly agent: ClusterClient;
  /** Rotations are counted by cluster, and this limit cannot be set. */
  readonly #rotating: readonly ClusterClient[];
  #posts = 0;
  readonly endpoints: readonly Endpoint[];
  readonly jobId: string;

  private constructor(
    running: { readonly plane: RunningControlPlane; readonly http: HttpClient },
    agents: readonly [ClusterClient, ...ClusterClient[]],
    jobId: string,
    registrationToken: string,
  ) {
    const [agent, ...rotating] = agents;
    this.plane = running.plane;
    this.http = running.http;
    this.agent = agent;
    this.#rotating = rotating;
    this.jobId = jobId;
    this.endpoints = endpointsOf(agent.id, jobId, registrationToken);
  }

  static async start(): Promise<BadInputStage> {
    const plane = await RunningControlPlane.start(undefined, NO_LIMITS);
    const http = new HttpClient(plane.url);
    await plane.putPodinfo();
    const tokenOf = async (slug: string): Promise<string> => {
      const id = await plane.newCluster(slug, { connectivityMode: 'pull' });
      const { body } = await plane.call('POST', `/clusters/${id}/registration-token`);
      return String(body['registrationToken']);
    };
    const key = newEncryptionKey();
    const register = async (slug: string): Promise<ClusterClient> => {
      const body = JSON.stringify({ token: await tokenOf(slug), public_key: key.publicKey });
      const headers = { 'content-type': 'application/json' };
      const answer = await http.send({ method: 'POST', path: '/api/agent/register', headers, body });
      const { cluster_id: id, token } = answer.json as { cluster_id: string; token: string };
      return new ClusterClient(http, { id, token, key });
    };
    const agent = await register('registered');
    const rotating: ClusterClient[] = [];
    for (let number = 0; number < ROTATING; number += 1) rotating.push(await register(`rotating-${number}`));
    const intent = await plane.call('POST', `/clusters/${agent.id}/intents`, INSTALL);
    const { jobs } = (await agent.poll(10)).json as { jobs: { id: string }[] };
    const jobId = jobs[0]?.id ?? '';
    await agent.post(`/api/agent/jobs/${jobId}/ack`);
    await plane.until(String(intent.body['id']), 'delivered');
    return new BadInputStage({ plane, http }, [agent, ...rotating], jobId, await tokenOf('pending'));
  }

  /** Posts to an endpoint as its client does, but for what `changes` say. */
  async post(endpoint: Endpoint, changes: Partial<AgentCall>): Promise<Answer> {
    this.#posts += 1;
    const rotating = endpoint.name === 'rotate' ? this.#rotating[this.#posts % ROTATING] : undefined;
    const open = endpoint.open === true ? { sign: false as const, headers: { authorization: undefined } } : {};
    const headers = { ...open.headers, ...changes.headers };
    return await (rotating ?? this.agent).send({ path: endpoint.path, ...open, ...changes, headers });
  }

  /** Bytes as they are on a connection of their own; answers all that comes back until the other side closes it. */
  async raw(...parts: readonly (string | Buffer)[]): Promise<string> {
    const socket = this.connect();
    const received: Buffer[] = [];
    socket.on('data', (part: Buffer) => received.push(part));
    // A server that has answered may well reset what it does not want to read.
    socket.on('error', () => undefined);
    for (const part of parts) socket.write(part);
    await once(socket, 'close');
    return Buffer.concat(received).toString('latin1');
  }

  connect(): Socket {
    const { hostname, port } = new URL(this.plane.url);
    return connect(Number(port), hostname);
  }

  /** Every row of the database but for what a poll or the passing of time changes, as the registries' answers. */
  rows(): string {
    const tables = this.plane.query(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'chart_versions' ORDER BY name",
    );
    const rows = tables.map(({ name }) => {
      const all = this.plane.query(`SELECT * FROM "${String(name)}"`);
      return [name, all.map(({ last_contact_at: _at, first_used_at: _used, ...row }) => row)];
    });
    return JSON.stringify(rows, (_key, value: unknown) => (value instanceof Uint8Array ? 'bytes' : value), 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.http[Symbol.dispose]();
    await this.plane[Symbol.asyncDispose]();
  }
}

/** Bytes of the heap that something still holds. */
export function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed + process.memoryUsage().external;
}

function endpointsOf(clusterId: string, jobId: string, registrationToken: string): Endpoint[] {
  const at = new Date().toISOString();
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'Reason',
    message: 'text',
    lastTransitionTime: at,
    observedGeneration: 1,
  };
  const reference = {
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    namespace: 'shop',
    name: 'podinfo',
    uid: randomUUID(),
    generation: 1,
  };
  const event = {
    eventKey: 'key',
    kind: 'ConditionTransition',
    resourceRef: reference,
    conditions: [condition],
    timestamp: at,
    sequence: '1.1',
    source: { mode: 'pull', epoch: 1, revision: 'r', intentId: 'i', generation: 1 },
  };
  const publicKey = newEncryptionKey().publicKey;
  return [
    {
      name: 'register',
      path: '/api/agent/register',
      open: true,
      body: { token: registrationToken, cluster_uid: 'uid', public_key: publicKey, csr: 'csr', operator_version: '1' },
      required: ['/public_key/kty', '/public_key/crv', '/public_key/x'],
      longest: { '/token': 256, '/cluster_uid': 128, '/csr': 16_384, '/operator_version': 64, '/public_key/kid': 256 },
    },
    {
      name: 'events',
      path: '/api/agent/events',
      body: { cluster_id: clusterId, events: [event, event] },
      required: [
        '/events',
        '/events/1/eventKey',
        '/events/1/kind',
        '/events/0/resourceRef',
        '/events/0/resourceRef/apiVersion',
        '/events/0/resourceRef/kind',
        '/events/0/resourceRef/name',
        '/events/0/conditions',
        '/events/1/conditions/0/type',
        '/events/1/conditions/0/status',
      ],
      longest: {
        '/events/0/eventKey': 1024,
        '/events/1/conditions/0/message': 32_768,
        '/events/1/conditions/0/reason': 1024,
        '/events/0/resourceRef/name': 253,
        '/events/0/resourceRef/uid': 128,
        '/events/0/source/revision': 256,
      },
    },
    {
      name: 'status',
      path: `/api/agent/jobs/${jobId}/status`,
      body: { phase: 'Reconciling', conditions: [condition], message: 'text', timestamp: at },
      required: ['/phase', '/conditions/0/type', '/conditions/0/status'],
      longest: { '/phase': 64, '/message': 32_768, '/conditions/0/reason': 1024 },
    },
    {
      name: 'result',
      path: `/api/agent/jobs/${jobId}/result`,
      body: { outcome: 'failed', error: 'text', appliedRef: reference, timestamp: at },
      required: ['/outcome', '/error', '/appliedRef/apiVersion', '/appliedRef/kind', '/appliedRef/name'],
      longest: { '/error': 32_768, '/appliedRef/name': 253 },
    },
    {
      name: 'rotate',
      path: '/api/agent/credentials/rotate',
      body: { csr: 'csr', public_key: publicKey },
      required: ['/public_key/kty', '/public_key/crv', '/public_key/x'],
      longest: { '/csr': 16_384, '/public_key/kid': 256 },
    },
    {
      name: 'recover',
      path: '/api/agent/credentials/recover',
      open: true,
      body: { cluster_id: clusterId },
      required: ['/cluster_id'],
      longest: { '/cluster_id': 64 },
    },
  ];
}
