import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { PROJECT_VERSION } from '../../runtime/project-version.ts';
import type { Store } from '../store/open-store.ts';
import { countState, type CountedState } from './count-state.ts';
import { METRICS, type MetricLabels, type MetricName } from './metrics.ts';

/** What was counted in the database is shown for so long, however often it is asked for. */
const COUNTED_FOR_MS = 10_000;

type OfKind<Kind> = { [Name in MetricName]: (typeof METRICS)[Name]['kind'] extends Kind ? Name : never }[MetricName];
export type CounterName = OfKind<'counter'>;
export type HistogramName = OfKind<'histogram'>;
export type GaugeName = OfKind<'gauge'>;

/** What parts of the program say of themselves. */
export interface Measuring {
  count<Name extends CounterName>(name: Name, labels: MetricLabels<Name>, by?: number): void;
  observe<Name extends HistogramName>(name: Name, labels: MetricLabels<Name>, seconds: number): void;
  /** Asked for at each scrape. */
  read(name: GaugeName, value: () => number): void;
}

export interface MetricsDeps {
  readonly store: Pick<Store, 'db'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The metrics of one control plane, in a registry of their own: two in one process do not mix. */
export class ControlPlaneMetrics implements Measuring {
  readonly #deps: MetricsDeps;
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #sources: { readonly name: GaugeName; readonly value: () => number }[] = [];
  #counted: { readonly at: number; readonly state: Promise<CountedState | undefined> } | undefined;

  constructor(deps: MetricsDeps) {
    this.#deps = deps;
    const registers = [this.#registry];
    for (const [name, definition] of Object.entries(METRICS)) {
      const { kind, help, labels: labelNames } = definition;
      const common = { name, help, labelNames, registers };
      if (kind === 'counter') this.#counters.set(name, new Counter(common));
      else if (kind === 'gauge') this.#gauges.set(name, new Gauge(common));
      else this.#histograms.set(name, new Histogram({ ...common, buckets: [...definition.buckets] }));
    }
    // Without a value until something says one.
    for (const gauge of this.#gauges.values()) gauge.remove({});
    collectDefaultMetrics({ register: this.#registry, prefix: 'service_' });
    this.#gauge('service_build_info').set({ version: PROJECT_VERSION }, 1);
  }

  count<Name extends CounterName>(name: Name, labels: MetricLabels<Name>, by = 1): void {
    this.#counters.get(name)?.inc({ ...labels }, by);
  }

  observe<Name extends HistogramName>(name: Name, labels: MetricLabels<Name>, seconds: number): void {
    this.#histograms.get(name)?.observe({ ...labels }, Math.max(0, seconds));
  }

  read(name: GaugeName, value: () => number): void {
    this.#sources.push({ name, value });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** In the text format of Prometheus. */
  async text(): Promise<string> {
    for (const { name, value } of this.#sources) this.#gauge(name).set(value());
    this.#show(await this.#countedState());
    return await this.#registry.metrics();
  }

  #gauge(name: GaugeName): Gauge {
    const gauge = this.#gauges.get(name);
    if (gauge === undefined) throw new Error(`${name} is not a gauge`);
    return gauge;
  }

  /** Those who ask at once, or soon after, are answered out of one count. */
  async #countedState(): Promise<CountedState | undefined> {
    const { store, clock, logger } = this.#deps;
    const now = clock.now().getTime();
    if (this.#counted === undefined || now - this.#counted.at >= COUNTED_FOR_MS) {
      const state = countState(store.db).catch((error: unknown) => {
        logger.warn({ err: error }, 'what is counted in the database is not shown');
        return undefined;
      });
      this.#counted = { at: now, state };
    }
    return await this.#counted.state;
  }

  #show(state: CountedState | undefined): void {
    const now = this.#deps.clock.now().getTime();
    this.#gauge('service_database_up').set(state === undefined ? 0 : 1);
    for (const [name, definition] of Object.entries(METRICS)) {
      if (!('isOfDatabase' in definition)) continue;
      this.#gauges.get(name)?.reset();
      this.#gauges.get(name)?.remove({});
    }
    // What is not known is not there, rather than 0: no alert ends by it.
    if (state === undefined) return;
    for (const { count, ...labels } of state.clusters) this.#gauge('service_clusters').set(labels, count);
    for (const { count, ...labels } of state.intents) this.#gauge('service_intents').set(labels, count);
    const { oldestWaitingSince: since, approvalsPending, expiries } = state;
    const waiting = since === null ? 0 : Math.max(0, (now - Date.parse(since)) / 1000);
    this.#gauge('service_oldest_waiting_intent_seconds').set(waiting);
    this.#gauge('service_approvals_pending').set(approvalsPending);
    for (const [kind, at] of Object.entries(expiries)) {
      if (at === undefined) continue;
      this.#gauge('service_credential_expiry_seconds').set({ kind }, (Date.parse(at) - now) / 1000);
    }
  }
}
