import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { Wake } from '../../runtime/wake.ts';
import { bundleOf, planCertificates, servingEnds, type CertificatePlan, type WebhookKeys } from './certificate-plan.ts';
import { issueAuthority, issueServing, webhookNames, type CertifiedKey } from './webhook-certificate.ts';
import { publishBundle, readConfiguration, trusts, WEBHOOK_CONFIGURATION } from './webhook-configuration.ts';
import { readWebhookKeys, writeWebhookKeys } from './webhook-secret.ts';

export interface CertificateKeeperDeps {
  readonly api: ClusterApi;
  readonly namespace: string;
  /** What the Secret is labelled with, as far as it is known yet. */
  readonly labels: () => Readonly<Record<string, string>>;
  /** Serves a certificate from now on; called when it is another. */
  readonly serve: (serving: CertifiedKey) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** What a look came to: all is in place, there is no configuration yet, or another replica came first. */
type Look = 'settled' | 'unconfigured' | 'overtaken';

const LOOK_MS = 60_000;
/** A configuration is mostly applied a moment after the operator is up, and it refuses nothing until it trusts the authority. */
const SOON_MS = 8000;
const RETRY = { minMs: 500, maxMs: 10_000 };

/**
 * Keeps the webhook's certificate: one for all replicas, in a Secret. Each replica looks once a minute, and every few seconds until
 * the webhook configuration trusts the authority; it looks at once when it is told of other labels. It serves what is there, makes what is missing or due, and puts the authority
 * into the configuration, whoever overwrote it. Of two that do the same at once, one succeeds and the other reads what it wrote.
 */
export class CertificateKeeper {
  readonly #deps: CertificateKeeperDeps;
  readonly #wake = new Wake();
  #served = '';
  #ends: Date | undefined;
  #said = '';

  constructor(deps: CertificateKeeperDeps) {
    this.#deps = deps;
  }

  /** When the served certificate ends; undefined while there is none. */
  get ends(): Date | undefined {
    return this.#ends;
  }

  /** Says that the labels may be others: the next look is at once. */
  relabel(): void {
    this.#wake.ring();
  }

  /** Runs until aborted. A fault is tried again: without a certificate the webhook is away, and everything is admitted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    let failures = 0;
    while (!signal.aborted) {
      let pause = LOOK_MS;
      try {
        const look = await this.look(signal);
        failures = look === 'overtaken' ? failures + 1 : 0;
        if (failures === 0) this.#said = '';
        if (look === 'unconfigured') pause = SOON_MS;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        this.#tell(error);
      }
      const wait = failures === 0 ? pause * (0.8 + 0.4 * random()) : backoffMs(RETRY, failures, random);
      await this.#wake.waitAtMost(wait, clock, signal).catch(() => undefined);
    }
  }

  /** One look. @throws KubeError */
  async look(signal: AbortSignal): Promise<Look> {
    const { api, namespace, clock } = this.#deps;
    const stored = await readWebhookKeys(api, namespace, signal);
    // A configuration that may not be read cannot be waited for; the Secret is kept all the same.
    const seen = await readConfiguration(api, signal).catch((error: unknown) => error as Error);
    const configuration = seen instanceof Error ? undefined : seen;
    const isTrusted = (keys: WebhookKeys): boolean =>
      configuration === undefined || trusts(configuration, bundleOf(keys));
    const plan = planCertificates(stored?.keys, {
      names: webhookNames(namespace),
      published: stored?.keys === undefined || isTrusted(stored.keys),
      now: clock.now(),
    });
    const keys = await this.#carryOut(plan, stored?.keys);
    const labels = this.#deps.labels();
    const isLabelled = Object.entries(labels).every(([name, value]) => stored?.labels[name] === value);
    if (keys !== stored?.keys || !isLabelled) {
      const isWritten = await writeWebhookKeys(api, namespace, { keys, labels, replaces: stored }, signal);
      if (!isWritten) return 'overtaken';
    }
    this.#serve(keys);
    if (seen instanceof Error) throw seen;
    if (configuration === undefined) return 'unconfigured';
    return (await publishBundle(api, configuration, bundleOf(keys), signal)) ? 'settled' : 'overtaken';
  }

  /** The very same keys where the plan asks for nothing. */
  async #carryOut(plan: CertificatePlan, keys: WebhookKeys | undefined): Promise<WebhookKeys> {
    const now = this.#deps.clock.now();
    const names = webhookNames(this.#deps.namespace);
    if (plan.start || keys === undefined) {
      const authority = await issueAuthority(now);
      this.#deps.logger.info('made an authority and a certificate for the webhook');
      return { authority, retired: [], serving: await issueServing(authority, names, now) };
    }
    if (plan.authority) {
      this.#deps.logger.info('made a new authority for the webhook; the old one stays trusted meanwhile');
      const retired = [keys.authority.certificate, ...keys.retired];
      return { ...keys, authority: await issueAuthority(now), retired };
    }
    const retired = keys.retired.filter((certificate) => !plan.forget.includes(certificate));
    if (!plan.serving) return plan.forget.length === 0 ? keys : { ...keys, retired };
    this.#deps.logger.info('made a new certificate for the webhook');
    return { ...keys, retired, serving: await issueServing(keys.authority, names, now) };
  }

  #serve(keys: WebhookKeys): void {
    if (this.#served === keys.serving.certificate) return;
    this.#deps.serve(keys.serving);
    this.#served = keys.serving.certificate;
    this.#ends = servingEnds(keys);
  }

  /** Once for each fault in a row. */
  #tell(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (message === this.#said) return;
    this.#said = message;
    const isDenied = error instanceof KubeError && error.status === 403;
    const advice = isDenied
      ? `the operator may not keep its webhook's certificate; apply the roles of its manifest again (get and patch on ValidatingWebhookConfiguration ${WEBHOOK_CONFIGURATION}, and on its Secret). Until then everything is admitted and judged at reconcile`
      : "the webhook's certificate cannot be looked after yet; it is tried again";
    this.#deps.logger.warn({ problem: message }, advice);
  }
}
