import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { signPayload } from '../../src/protocol/payload-signature.ts';
import { generateSigningKey } from '../../src/protocol/signing-key.ts';
import type { ApplicationInstance } from '../../src/resources/application-instance.ts';
import {
  APPS_API_VERSION,
  CLUSTER_ID_LABEL,
  INTENT_ID_ANNOTATION,
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  NAMESPACE_LABEL,
  NAMESPACE_LABEL_VALUE,
  OPERATOR_NAMESPACE,
  OPS_API_VERSION,
  SOURCE_ANNOTATION,
  STATUS_FIELD_MANAGER,
} from '../../src/resources/labels.ts';
import { signedContent, signedContext, withSignature } from '../../src/resources/signed-object.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** The operator as its source, and as `npm run build` makes it. */
const SOURCE = join(ROOT, 'src', 'operator', 'main.ts');
export const BUILT_OPERATOR = join(ROOT, 'dist', 'operator', 'main.js');
export const FLEET_CLUSTER_ID = 'c-0123456789abcdef';
/** The control plane's, as the operator has pinned it. */
const SIGNING_KEY = generateSigningKey();
const CHART = { type: 'oci', url: 'oci://registry.test/charts/podinfo', name: 'podinfo' } as const;

/** Every request, one line each; the audit log is what counts them. */
export const FLEET_AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [{ level: 'Metadata' }],
};

/**
 * A cluster whose operator has its projection from before and a control plane that is away: what it does then is
 * reconciling alone.
 */
export async function prepareFleet(api: ClusterApi, namespaces: readonly string[]): Promise<void> {
  await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: OPERATOR_NAMESPACE } }, 'fleet');
  const labels = { [NAMESPACE_LABEL]: NAMESPACE_LABEL_VALUE };
  for (const name of namespaces) {
    await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }, 'fleet');
  }
  const cluster = { apiVersion: OPS_API_VERSION, kind: 'Cluster' };
  const metadata = { name: 'fleet', namespace: OPERATOR_NAMESPACE };
  await api.create({ ...cluster, metadata, spec: { controlPlaneBaseUrl: 'http://127.0.0.1:1' } }, 'fleet');
  const status = {
    clusterId: FLEET_CLUSTER_ID,
    connectivityMode: 'gitops',
    deliveryEpoch: 1,
    allowedNamespaces: [...namespaces],
    catalogEntries: [{ entry: 'podinfo', chart: CHART, versions: '>=6' }],
    operationTemplates: [],
    odooPublicKey: JSON.stringify(SIGNING_KEY.publicJwk),
    signingKeys: { accepted: [JSON.stringify(SIGNING_KEY.publicJwk)] },
  };
  const options = { fieldManager: STATUS_FIELD_MANAGER, subresource: 'status', force: true } as const;
  await api.apply({ ...cluster, metadata, status }, options);
}

export function fleetName(number: number): string {
  return `app-${String(number).padStart(4, '0')}`;
}

/** An instance as the apply loop would have brought it, signed. */
export async function fleetInstance(namespace: string, number: number): Promise<ApplicationInstance> {
  const name = fleetName(number);
  const instance = {
    apiVersion: APPS_API_VERSION,
    kind: 'ApplicationInstance',
    metadata: {
      name,
      namespace,
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY_VALUE, [CLUSTER_ID_LABEL]: FLEET_CLUSTER_ID },
      annotations: { [SOURCE_ANNOTATION]: '1.1', [INTENT_ID_ANNOTATION]: `int-${name}` },
    },
    spec: {
      catalogEntry: 'podinfo',
      chart: { ...CHART, version: '6.5.0' },
      values: { replicaCount: 2, ui: { message: `this is ${name}` }, resources: { requests: { cpu: '100m' } } },
    },
  };
  const context = signedContext(instance);
  if (context === undefined) throw new Error('an instance has a place in the order of deliveries');
  const header = { ...context, cluster_id: FLEET_CLUSTER_ID };
  const signature = await signPayload({ payload: signedContent(instance), key: SIGNING_KEY, header });
  return withSignature(instance, signature) as ApplicationInstance;
}

/** Does `work` for each of `count` numbers, so many at once. */
export async function manyAtOnce(
  count: number,
  atOnce: number,
  work: (number: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) await work(number);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

/** The operator as a process of its own. Disposing ends it as Kubernetes does. */
export class OperatorProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  #log = '';

  constructor(kubeconfigPath: string, stateDir: string, program = SOURCE) {
    this.#child = spawn(process.execPath, [program], {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: process.env['HOME'] ?? '',
        // As its Deployment has it.
        NODE_OPTIONS: '--max-old-space-size=128 --max-semi-space-size=2',
        SERVICE_OPERATOR_KUBECONFIG: kubeconfigPath,
        SERVICE_OPERATOR_STATE_DIR: stateDir,
        SERVICE_LOG_LEVEL: 'warn',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#log = (this.#log + chunk.toString()).slice(-20_000);
      });
    }
  }

  get log(): string {
    return this.#log;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Resident memory now and at its highest, in MiB, as the kernel counts it. */
  memory(): { readonly nowMiB: number; readonly peakMiB: number } {
    const status = readFileSync(`/proc/${this.#child.pid ?? 0}/status`, 'utf8');
    const of = (field: string): number =>
      Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024);
    return { nowMiB: of('VmRSS'), peakMiB: of('VmHWM') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.hasEnded) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }
}

export interface AuditedRequest {
  readonly verb: string;
  /** `helmreleases`, `applicationinstances/status`, … */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly status: number;
  readonly receivedAt: number;
  readonly answeredAt: number;
}

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

export function isWrite({ verb }: AuditedRequest): boolean {
  return WRITES.has(verb);
}

interface AuditEvent {
  readonly verb: string;
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

/** Reads what an API server's audit log has gained, of one client. */
export class AuditReader {
  readonly #path: string;
  readonly #userAgent: string;
  #offset = 0;
  #rest = '';
  readonly requests: AuditedRequest[] = [];

  constructor(path: string, userAgent: string) {
    this.#path = path;
    this.#userAgent = userAgent;
  }

  /** Answers everything so far. */
  read(): readonly AuditedRequest[] {
    const size = statSync(this.#path).size;
    const bytes = Buffer.alloc(size - this.#offset);
    const file = openSync(this.#path, 'r');
    try {
      this.#offset += readSync(file, bytes, 0, bytes.length, this.#offset);
    } finally {
      closeSync(file);
    }
    const lines = (this.#rest + bytes.toString('utf8')).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const event = JSON.parse(line) as AuditEvent;
      if (event.userAgent?.startsWith(this.#userAgent) === true) this.requests.push(requestOf(event));
    }
    return this.requests;
  }
}

function requestOf({ verb, objectRef = {}, responseStatus, ...times }: AuditEvent): AuditedRequest {
  const { resource = '', subresource, namespace = '', name = '' } = objectRef;
  return {
    verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name,
    status: responseStatus?.code ?? 0,
    receivedAt: Date.parse(times.requestReceivedTimestamp),
    answeredAt: Date.parse(times.stageTimestamp),
  };
}

/** How often each verb was used on each resource, as `patch helmreleases` → 100. */
export function countByKind(requests: readonly AuditedRequest[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { verb, resource } of requests) {
    const key = `${verb} ${resource}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}
