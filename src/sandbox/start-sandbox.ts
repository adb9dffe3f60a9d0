import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { systemClock, type Clock } from '../runtime/clock.ts';
import { createLogger, type Logger } from '../runtime/logger.ts';
import type { Secret } from '../runtime/secret.ts';
import { AdmissionWebhooks } from './admission/admission-webhooks.ts';
import { WebhookClient } from './admission/webhook-client.ts';
import { Audit } from './audit.ts';
import { Authentication } from './authentication.ts';
import { ControllerLoop } from './controller-loop.ts';
import { DefinitionController } from './definition-controller.ts';
import { Faults } from './faults.ts';
import { GarbageCollector } from './garbage-collector.ts';
import { HttpApi } from './http-api.ts';
import { KindRegistry } from './kind-registry.ts';
import { kubeconfigText } from './kubeconfig.ts';
import { createLoopbackCertificate } from './loopback-certificate.ts';
import { NamespaceController } from './namespaces.ts';
import { ObjectRemover } from './object-remover.ts';
import { ObjectWriter } from './object-writer.ts';
import { ResourceHandler } from './resource-handler.ts';
import { Storage } from './storage.ts';
import { TokenSecretController } from './token-secret-controller.ts';

export interface SandboxOptions {
  readonly clock?: Clock;
  /** Default 0: any free port of the loopback interface. */
  readonly port?: number;
  /** The admin's bearer token; default: a random one. */
  readonly token?: Secret;
  /**
   * Default: HTTPS with a certificate of its own, since kubectl sends no token over plain HTTP; `false` is plain
   * HTTP. PEM; `ca` is what clients are told to trust, the certificate itself where it is left out.
   */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string } | false;
  /** Changes remembered of each resource, for watches that resume and lists that continue. Default 1,000. */
  readonly historyLimit?: number;
  /** Default 60,000. */
  readonly bookmarkIntervalMs?: number;
  /** What may wait for a slow watcher before it is cut, in bytes. Default 4 MiB. */
  readonly watchBufferBytes?: number;
  readonly logger?: Logger;
  readonly uuid?: () => string;
  /** In [0, 1); for `generateName`. */
  readonly random?: () => number;
}

/** An in-memory Kubernetes API server. */
export interface Sandbox extends AsyncDisposable {
  readonly url: string;
  /** PEM of what signed the server's certificate; undefined with plain HTTP. */
  readonly ca: string | undefined;
  /** The admin's. */
  readonly token: Secret;
  readonly faults: Faults;
  readonly audit: Audit;
  /** Further users, with fewer rights. */
  readonly users: Authentication;
  /** YAML for kubectl; holds the admin's token. */
  kubeconfig(): string;
  /** Forgets all history: resourceVersions and continue tokens handed out so far answer 410. */
  compact(): void;
  /** Resolves when garbage collection, namespaces and definitions have come to rest. */
  settled(): Promise<void>;
  /** Cuts every open connection, watches too, and goes on serving. */
  cutConnections(): void;
}

/** Starts an API server on 127.0.0.1 that kubectl and client-node talk to unchanged. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const clock = options.clock ?? systemClock;
  const logger = options.logger ?? createLogger('sandbox', 'warn');
  const storage = new Storage({ historyLimit: options.historyLimit ?? 1000 });
  const registry = new KindRegistry();
  const remover = new ObjectRemover({ storage, clock });
  const uuid = options.uuid ?? randomUUID;
  const random = options.random ?? Math.random;
  const writer = new ObjectWriter({ storage, registry, clock, uuid, random });
  const definitions = new DefinitionController({ storage, registry, remover, clock });
  const namespaces = new NamespaceController({ storage, registry, writer, remover });
  const collector = new GarbageCollector({ storage, registry, remover });
  const webhookClient = new WebhookClient({ storage });
  const webhooks = new AdmissionWebhooks({ storage, registry, client: webhookClient, uuid });
  storage.subscribe((event) => definitions.serve(event));
  const tls = options.tls === false ? undefined : (options.tls ?? createLoopbackCertificate());
  const ca = options.tls === false ? undefined : (options.tls?.ca ?? tls?.cert);
  const authentication = new Authentication();
  const token = authentication.add({ name: 'admin' }, options.token);
  const tokens = new TokenSecretController({ storage, registry, writer, remover, authentication, ca });
  const loop = new ControllerLoop({ storage, controllers: [namespaces, definitions, collector, tokens], logger });
  namespaces.createInitial();
  await loop.settled();
  // As after a server's start: no watch reaches back to before it.
  storage.compact();

  const faults = new Faults();
  const audit = new Audit();
  const api = new HttpApi({
    registry,
    resources: new ResourceHandler({ storage, writer, remover, webhooks, clock }),
    authentication,
    faults,
    audit,
    clock,
    watches: { storage, clock, bookmarkIntervalMs: options.bookmarkIntervalMs ?? 60_000 },
    watchBufferBytes: options.watchBufferBytes ?? 4 * 1024 * 1024,
  });
  const server = tls === undefined ? createHttpServer() : createHttpsServer({ cert: tls.cert, key: tls.key });
  // Longer than clients keep idle connections, so that no request meets one that is just being closed.
  server.keepAliveTimeout = 120_000;
  server.on('request', (request, response) => void api.handle(request, response));
  const port = await listen(server, options.port ?? 0);
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  return {
    url,
    ca,
    token,
    faults,
    audit,
    users: authentication,
    kubeconfig: () => kubeconfigText({ url, token, ca }),
    compact: () => storage.compact(),
    settled: async () => loop.settled(),
    cutConnections: () => server.closeAllConnections(),
    [Symbol.asyncDispose]: async () => {
      loop[Symbol.dispose]();
      webhookClient[Symbol.dispose]();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

async function listen(server: Server, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(port, '127.0.0.1', resolve);
  await promise;
  server.off('error', reject);
  return (server.address() as AddressInfo).port;
}
