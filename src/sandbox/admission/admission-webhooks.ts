import type { KubeObject } from '../../resources/kube-object.ts';
import type { User } from '../authentication.ts';
import { decodeObject } from '../decode-object.ts';
import { sameJson } from '../json-value.ts';
import { resourceOf } from '../kind.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { KindRegistry } from '../kind-registry.ts';
import { jsonPatch } from '../patch/json-patch.ts';
import { goQuoted } from '../schema/go-value.ts';
import { badRequest, StatusError } from '../status-error.ts';
import type { Storage } from '../storage.ts';
import { readReview, reviewRequest, reviewVersion, WebhookFailure, type Verdict } from './admission-review.ts';
import { withAdmission, withoutAdmission, type Admitted, type AdmissionStep } from './admission-step.ts';
import { ruleMatches, webhooksOf, type RegisteredWebhook } from './registered-webhook.ts';
import type { WebhookClient } from './webhook-client.ts';

/** Whose request it is, and how they are warned. */
export interface Caller {
  readonly user: User;
  readonly warn: (text: string) => void;
}

const GROUP = 'admissionregistration.k8s.io';
const RESOURCES: Readonly<Record<AdmissionStep['phase'], string>> = {
  mutating: `mutatingwebhookconfigurations.${GROUP}`,
  validating: `validatingwebhookconfigurations.${GROUP}`,
};

interface Call {
  readonly webhook: RegisteredWebhook;
  /** The version of the kind that the webhook is shown. */
  readonly version: string;
}

/** Asks the registered webhooks about writes. Where none is registered, a write stays synchronous. */
export class AdmissionWebhooks {
  readonly #storage: Storage;
  readonly #registry: KindRegistry;
  readonly #client: WebhookClient;
  readonly #uuid: () => string;
  readonly #registered: Record<AdmissionStep['phase'], readonly RegisteredWebhook[]> = { mutating: [], validating: [] };

  constructor(deps: {
    readonly storage: Storage;
    readonly registry: KindRegistry;
    readonly client: WebhookClient;
    readonly uuid: () => string;
  }) {
    this.#storage = deps.storage;
    this.#registry = deps.registry;
    this.#client = deps.client;
    this.#uuid = deps.uuid;
    deps.storage.subscribe(({ resource }) => {
      for (const phase of ['mutating', 'validating'] as const) {
        if (resource === RESOURCES[phase]) this.#registered[phase] = deps.storage.list(resource).flatMap(webhooksOf);
      }
    });
  }

  /** Carries out a write with everybody's consent. @throws StatusError of the write, 400 and up as denied, 500 */
  async run<Result>(steps: Admitted<Result>, caller: Caller): Promise<Result> {
    const { mutating, validating } = this.#registered;
    if (mutating.length + validating.length === 0) return withoutAdmission(steps);
    return withAdmission(steps, async (step) => {
      // A webhook that refuses everything must not keep its own configuration from being mended.
      if (step.kind.group === GROUP) return step.object;
      if (step.phase === 'mutating') return this.#mutate(step, caller);
      await this.#validate(step, caller);
      return step.object;
    });
  }

  async #validate(step: AdmissionStep, caller: Caller): Promise<void> {
    const calls = this.#calls(step, this.#registered.validating);
    const outcomes = await Promise.allSettled(calls.map(async (call) => this.#ask(call, step, caller)));
    const refused = outcomes.find((outcome) => outcome.status === 'rejected');
    if (refused !== undefined) throw refused.reason;
  }

  /** One after the other; those that asked for it once more after a later one changed the object. */
  async #mutate(step: AdmissionStep, caller: Caller): Promise<KubeObject | undefined> {
    let { object } = step;
    const invoked: RegisteredWebhook[] = [];
    const again = new Set<RegisteredWebhook>();
    for (const round of [0, 1]) {
      for (const webhook of this.#registered.mutating) {
        const current = { ...step, object };
        const [call] = this.#calls(current, [webhook]);
        if (call === undefined || (round === 1 && !again.has(webhook))) continue;
        const verdict = await this.#ask(call, current, caller);
        const next = verdict === undefined ? object : patched(call, current, verdict);
        if (next !== object && !sameJson(next, object)) {
          for (const earlier of invoked.splice(0)) again.add(earlier);
          object = next;
        }
        if (webhook.reinvocable) invoked.push(webhook);
      }
      if (again.size === 0) break;
    }
    return object;
  }

  #calls(step: AdmissionStep, webhooks: readonly RegisteredWebhook[]): readonly Call[] {
    return webhooks.flatMap((webhook) => {
      if (!this.#selects(webhook, step)) return [];
      const { kind } = step;
      if (webhook.rules.some((rule) => ruleMatches(rule, step, kind.version))) {
        return [{ webhook, version: kind.version }];
      }
      if (!webhook.matchesEquivalents) return [];
      const others = this.#registry.all().filter((other) => resourceOf(other) === resourceOf(kind) && other !== kind);
      const found = others.find(({ version }) => webhook.rules.some((rule) => ruleMatches(rule, step, version)));
      return found === undefined ? [] : [{ webhook, version: found.version }];
    });
  }

  #selects(webhook: RegisteredWebhook, step: AdmissionStep): boolean {
    const { kind, object, oldObject } = step;
    const isNamespace = resourceOf(kind) === 'namespaces';
    if (kind.namespaced || isNamespace) {
      const written = isNamespace && step.subresource === '' ? object : undefined;
      const namespace = this.#storage.get('namespaces', undefined, isNamespace ? step.name : (step.namespace ?? ''));
      if (!webhook.selectsNamespace((written ?? namespace)?.metadata.labels ?? {})) return false;
    }
    return [object, oldObject].some(
      (candidate) => candidate !== undefined && webhook.selectsObject(candidate.metadata.labels ?? {}),
    );
  }

  /** `undefined` where the webhook failed and that is to be ignored. */
  async #ask({ webhook, version }: Call, step: AdmissionStep, caller: Caller): Promise<Verdict | undefined> {
    if (step.dryRun && !webhook.dryRunIsSafe) {
      throw badRequest(`admission webhook ${goQuoted(webhook.name)} does not support dry run`);
    }
    try {
      const review = reviewVersion(webhook.reviewVersions);
      const uid = this.#uuid();
      const request = reviewRequest(step, { uid, review, version, user: caller.user });
      const answer = await this.#client.ask(webhook.clientConfig, webhook.timeoutSeconds, request);
      const verdict = readReview(webhook.name, step, { uid, review }, answer);
      for (const warning of verdict.warnings) caller.warn(warning);
      if (verdict.denial !== undefined) throw verdict.denial;
      return verdict;
    } catch (error) {
      if (!(error instanceof WebhookFailure)) throw error;
      if (webhook.ignoresFailures) return undefined;
      throw internal(`failed calling webhook ${goQuoted(webhook.name)}: ${error.message}`);
    }
  }
}

function internal(why: string): StatusError {
  return new StatusError(500, 'InternalError', `Internal error occurred: ${why}`, { causes: [{ message: why }] });
}

function patched({ webhook, version }: Call, step: AdmissionStep, verdict: Verdict): KubeObject | undefined {
  const { kind, object } = step;
  if (!Array.isArray(verdict.patch) || verdict.patch.length === 0) return object;
  if (object === undefined) {
    const name = goQuoted(webhook.name);
    throw internal(
      `admission webhook ${name} attempted to modify the object, which is not supported for this operation`,
    );
  }
  const shown = version === kind.version ? object : { ...object, apiVersion: `${kind.group}/${version}` };
  try {
    const result: unknown = jsonPatch(shown, verdict.patch);
    const next = decodeObject(kind, { ...Object(result), apiVersion: object.apiVersion });
    return strategyOf(kind).prepare(next, step.oldObject);
  } catch (error) {
    throw internal(error instanceof Error ? error.message : String(error));
  }
}
