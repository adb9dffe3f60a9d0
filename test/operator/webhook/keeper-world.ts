import { X509Certificate } from 'node:crypto';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { vi } from 'vitest';
import type { ClusterApi } from '../../../src/kube/cluster-api.ts';
import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import { CertificateKeeper } from '../../../src/operator/webhook/certificate-keeper.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { systemClock, type Clock } from '../../../src/runtime/clock.ts';
import type { Secret } from '../../../src/runtime/secret.ts';
import type { User } from '../../../src/sandbox/authentication.ts';
import { kubeconfigText } from '../../../src/sandbox/kubeconfig.ts';
import { startSandbox, type Sandbox } from '../../../src/sandbox/start-sandbox.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { aNamespace } from '../../reconcile/manifests.ts';

const SYSTEM = 'service-system';
export const DAY_MS = 86_400_000;
const CONFIGURATION = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  name: 'service-operator',
};
const SECRET = { apiVersion: 'v1', kind: 'Secret', namespace: SYSTEM, name: 'service-operator-webhook' };

type Configuration = KubeObject & { webhooks: { clientConfig: { caBundle?: string } }[] };
type StoredSecret = KubeObject & { data?: Record<string, string> };

/** A keeper in its loop, and what it has done. */
export interface Kept {
  /** Common to all: what is served, newest last. PEM. */
  readonly served: string[];
  /** Its pauses so far, in milliseconds. */
  readonly pauses: number[];
  /** What it logged, a message each. */
  readonly said: string[];
  readonly keeper: CertificateKeeper;
  stop(): Promise<void>;
}

/** A sandbox, a clock that a test moves, and keepers of the webhook's certificate that come and go. */
export class KeeperWorld implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly sandbox: Sandbox;
  readonly admin: ClusterApi;
  readonly #owned = new AsyncDisposableStack();
  readonly #running = new Set<Kept>();

  private constructor(sandbox: Sandbox) {
    this.sandbox = this.#owned.use(sandbox);
    this.admin = this.connect(sandbox.token);
  }

  static async start(): Promise<KeeperWorld> {
    const world = new KeeperWorld(await startSandbox({ tls: false }));
    await world.admin.create(aNamespace(SYSTEM, { labels: {} }), 'test');
    return world;
  }

  connect(token: Secret): ClusterApi {
    const { url, ca } = this.sandbox;
    const yaml = kubeconfigText({ url, token, ca });
    const connecting = { kubeconfig: { kind: 'text' as const, yaml }, userAgent: 'test' };
    return this.#owned.use(connectCluster({ ...connecting, clock: systemClock, random: Math.random }));
  }

  /** What somebody may do who may do all but this. */
  connectWithout(denied: (...asked: Parameters<User['may']>) => boolean): ClusterApi {
    return this.connect(this.sandbox.users.add({ name: 'limited', may: (asked) => !denied(asked) }));
  }

  /** Starts a keeper and returns once it pauses for the first time. */
  async keep(api: ClusterApi = this.admin, random = 0.5): Promise<Kept> {
    const kept = this.begin(api, random);
    await this.#paused(kept, 0);
    return kept;
  }

  /** Starts a keeper. */
  begin(api: ClusterApi = this.admin, random = 0.5): Kept {
    const [served, pauses, said]: [string[], number[], string[]] = [[], [], []];
    const clock: Clock = {
      now: () => this.clock.now(),
      sleep: async (ms, signal) => {
        pauses.push(ms);
        await this.clock.sleep(ms, signal);
      },
    };
    const lines = new Writable({
      write: (chunk: Buffer, _, done) => {
        said.push(String((JSON.parse(chunk.toString()) as { msg?: string }).msg));
        done();
      },
    });
    const keeper = new CertificateKeeper({
      api,
      namespace: SYSTEM,
      labels: () => ({ 'app.service.io/managed-by': 'control-plane' }),
      serve: ({ certificate }) => served.push(certificate),
      clock,
      random: () => random,
      logger: pino({ level: 'info' }, lines),
    });
    const abort = new AbortController();
    const ended = keeper.run(abort.signal);
    const kept: Kept = {
      served,
      pauses,
      said,
      keeper,
      stop: async () => {
        this.#running.delete(kept);
        abort.abort();
        await ended;
      },
    };
    this.#running.add(kept);
    return kept;
  }

  /** Lets time go by, and returns once all who woke up have looked and pause again. */
  async pass(ms: number): Promise<void> {
    const until = [...this.#running].map((kept) => [kept, kept.pauses.length] as const);
    this.clock.advance(ms);
    for (const [kept, pauses] of until) await this.#paused(kept, pauses);
  }

  async allPause(): Promise<void> {
    for (const kept of this.#running) await this.#paused(kept, 0);
  }

  async #paused(kept: Kept, more: number): Promise<void> {
    const look = (): void => {
      if (kept.pauses.length <= more) throw new Error(`still at work after ${kept.pauses.length} pauses`);
    };
    await vi.waitFor(look, { timeout: 10_000, interval: 5 });
  }

  /** As the manifest brings it: without anything to trust. */
  async configure(): Promise<void> {
    const { name, ...identity } = CONFIGURATION;
    const webhooks = ['applicationinstances', 'operations'].map((resource) => ({
      name: `${resource}.admission.service.io`,
      rules: [{ apiGroups: ['none.test'], apiVersions: ['v1'], resources: [resource], operations: ['CREATE'] }],
      clientConfig: { url: `https://127.0.0.1:9/admission/${resource}` },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      failurePolicy: 'Ignore',
    }));
    await this.admin.create({ ...identity, metadata: { name }, webhooks }, 'kubectl');
  }

  /** Writes something else to trust. */
  async overwriteBundles(...caBundles: readonly string[]): Promise<void> {
    const found = await this.admin.get<Configuration>(CONFIGURATION);
    const webhooks = (found?.webhooks ?? []).map((webhook, index) => {
      const caBundle = Buffer.from(caBundles[index] ?? '').toString('base64');
      return { ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } };
    });
    await this.admin.mergePatch(CONFIGURATION, { webhooks });
  }

  /** PEM, a bundle each webhook. */
  async bundles(): Promise<readonly string[]> {
    const found = await this.admin.get<Configuration>(CONFIGURATION);
    return (found?.webhooks ?? []).map(({ clientConfig }) =>
      Buffer.from(clientConfig.caBundle ?? '', 'base64').toString('utf8'),
    );
  }

  /** The Secret's members as text; undefined while there is no Secret. */
  async stored(): Promise<Readonly<Record<string, string>> | undefined> {
    const secret = await this.admin.get<StoredSecret>(SECRET);
    const members = Object.entries(secret?.data ?? {}).map(
      ([name, value]) => [name, Buffer.from(value, 'base64').toString('utf8')] as const,
    );
    return secret === undefined ? undefined : Object.fromEntries(members);
  }

  async store(members: Readonly<Record<string, string>>): Promise<void> {
    const encoded = Object.entries(members).map(
      ([name, value]) => [name, Buffer.from(value).toString('base64')] as const,
    );
    await this.admin.mergePatch(SECRET, { data: Object.fromEntries(encoded) });
  }

  async version(of: 'Secret' | 'configuration'): Promise<string | undefined> {
    const found = await this.admin.get(of === 'Secret' ? SECRET : CONFIGURATION);
    return found?.metadata.resourceVersion;
  }

  async deleteSecret(): Promise<void> {
    await this.admin.delete(SECRET);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const kept of this.#running) await kept.stop();
    await this.#owned.disposeAsync();
  }
}

/** Whether one of these authorities signed the certificate. */
export function isTrustedBy(certificate: string | undefined, bundle: string | undefined): boolean {
  const serving = new X509Certificate(certificate ?? '');
  const authorities = bundle?.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? [];
  return authorities.some((pem) => {
    const authority = new X509Certificate(pem);
    return serving.checkIssued(authority) && serving.verify(authority.publicKey);
  });
}

export function authoritiesIn(bundle: string | undefined): number {
  return bundle?.match(/BEGIN CERTIFICATE/g)?.length ?? 0;
}
