import { createHash } from 'node:crypto';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { KubeError, type ClusterApi } from '../kube/cluster-api.ts';
import type { ApprovalStatement } from '../protocol/approval-statement.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import {
  APPROVALS_CONFIG_MAP,
  CLUSTER_ID_LABEL,
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  META_FIELD_MANAGER,
  OPERATOR_NAMESPACE,
} from '../resources/labels.ts';
import type { Clock } from '../runtime/clock.ts';

/** Who used an approval. */
const ApprovalUse = Type.Object({
  uid: Type.String({ minLength: 1 }),
  /** Such as `Operation team-a/restore`. */
  about: Type.String(),
  /** When the approval ends, in seconds since 1970. */
  exp: Type.Integer(),
  /** Counts the approvals that the object used: with a later one, those before it are done with. */
  order: Type.Integer({ minimum: 1 }),
  /** The object has ended, so the approval is no use to it either. */
  isSpent: Type.Optional(Type.Literal(true)),
});
type ApprovalUse = Static<typeof ApprovalUse>;

/** `ok`: it is the object's, and that is written down. The others are no use to it, for good or for now. */
export type Consumption =
  | { readonly state: 'ok' }
  /** By what, in words: `Operation team-a/restore`, or the object itself of before a later approval. */
  | { readonly state: 'used'; readonly by: string }
  /** More approvals are in use than are remembered. */
  | { readonly state: 'full'; readonly kept: number };

export interface ConsumedApprovalsDeps {
  readonly api: ClusterApi;
  readonly clock: Clock;
  /** Asked at each write: the id is known only once the cluster is registered. */
  readonly clusterId: () => string;
  /** Default `service-system`. */
  readonly namespace?: string;
}

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

/** Of about 200 bytes each; the API server takes ConfigMaps of up to 1 MiB. */
const MOST_KEPT = 4000;
/** Room for the approvals of what ends before it began, which would otherwise be good for something else. */
const MOST_WITHDRAWN = 500;
/** What has ended is remembered for so long, lest the clock be set back. */
const KEPT_AFTER_END_SECONDS = 3600;
const MOST_TRIES = 5;

/**
 * Which approvals were used, and by which object: an approval is good for one. It is written down before anything is done
 * with it, in a ConfigMap and on condition that nobody else wrote there meanwhile. So an operator that does not know yet
 * that another leads cannot use one twice, and neither does a crash between the writing and the doing lose an approval:
 * the same object's is no second use.
 */
export class ConsumedApprovals {
  readonly #deps: ConsumedApprovalsDeps;
  readonly #uses = new Map<string, ApprovalUse>();
  /** The ConfigMap as last seen; undefined: it was not there. */
  #stored: ConfigMap | undefined;
  #isLoaded = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: ConsumedApprovalsDeps) {
    this.#deps = deps;
  }

  /** @throws KubeError */
  async load(signal: AbortSignal): Promise<void> {
    await this.#inTurn(() => this.#read(signal));
  }

  /** Whether the object cannot use the approval any more, as far as is known here: by what it was used, in words. */
  usedBy(jti: string, uid: string | undefined): string | undefined {
    const use = this.#uses.get(keyOf(jti));
    if (use === undefined) return undefined;
    if (use.uid !== uid) return use.about;
    if (use.isSpent === true) return `${use.about}, which has ended`;
    return use.order < this.#lastOrderOf(use.uid) ? `${use.about} before a later approval` : undefined;
  }

  /**
   * Call before anything runs or is released by the approval, which must have been found good.
   *
   * @throws KubeError when it could not be written down; nothing may be done then
   */
  async consume(
    { jti, exp }: Pick<ApprovalStatement, 'jti' | 'exp'>,
    object: KubeObject,
    signal: AbortSignal,
  ): Promise<Consumption> {
    return await this.#inTurn(async () => {
      let answer: Consumption = { state: 'ok' };
      await this.#change(() => {
        const known = this.#answer(jti, object, MOST_KEPT);
        answer = known ?? { state: 'ok' };
        return known === undefined ? this.#use({ jti, exp }, object) : undefined;
      }, signal);
      return answer;
    });
  }

  /**
   * Call before it is written down that an object has ended, with the approvals that it carries: none of them, nor any that
   * it used, is good for anything from then on, whatever becomes of the object and of its status.
   *
   * @throws KubeError when it could not be written down; Error when there is no room
   */
  async withdraw(
    carried: readonly Pick<ApprovalStatement, 'jti' | 'exp'>[],
    object: KubeObject,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#inTurn(async () => {
      for (const approval of carried) {
        await this.#change(() => {
          const known = this.#answer(approval.jti, object, MOST_KEPT + MOST_WITHDRAWN);
          if (known?.state === 'full') throw new Error(`${known.kept} approvals are remembered, and there is no room`);
          return known === undefined ? this.#use(approval, object) : undefined;
        }, signal);
      }
      const { uid } = object.metadata;
      await this.#change(() => {
        const unspent = [...this.#uses].filter(([, use]) => use.uid === uid && use.isSpent !== true);
        return unspent.length === 0
          ? undefined
          : new Map(unspent.map(([key, use]) => [key, { ...use, isSpent: true as const }]));
      }, signal);
    });
  }

  /** @param changes what to write by what is known now; undefined: nothing. Asked again where another wrote meanwhile. */
  async #change(changes: () => ReadonlyMap<string, ApprovalUse> | undefined, signal: AbortSignal): Promise<void> {
    if (!this.#isLoaded) await this.#read(signal);
    for (let attempt = 1; ; attempt += 1) {
      const wanted = changes();
      if (wanted === undefined) return;
      try {
        await this.#write(wanted, signal);
        return;
      } catch (error) {
        const isRace = error instanceof KubeError && (error.status === 409 || error.status === 404);
        if (!isRace || attempt === MOST_TRIES) throw error;
        await this.#read(signal);
      }
    }
  }

  #use({ jti, exp }: Pick<ApprovalStatement, 'jti' | 'exp'>, object: KubeObject): ReadonlyMap<string, ApprovalUse> {
    const { uid, about } = whose(object);
    return new Map([[keyOf(jti), { uid, about, exp, order: this.#lastOrderOf(uid) + 1 }]]);
  }

  /** Undefined: it is not used yet, and there is room. */
  #answer(jti: string, { metadata }: KubeObject, most: number): Consumption | undefined {
    const by = this.usedBy(jti, metadata.uid);
    if (by !== undefined) return { state: 'used', by };
    if (this.#uses.has(keyOf(jti))) return { state: 'ok' };
    this.#forgetEnded();
    return this.#uses.size >= most ? { state: 'full', kept: most } : undefined;
  }

  async #write(changes: ReadonlyMap<string, ApprovalUse>, signal: AbortSignal): Promise<void> {
    const wanted = new Map([...this.#uses, ...changes]);
    const texts = new Map([...wanted].map(([jti, one]) => [jti, JSON.stringify(one)]));
    this.#stored =
      this.#stored === undefined ? await this.#create(texts, signal) : await this.#patch(this.#stored, texts, signal);
    this.#uses.clear();
    for (const [jti, one] of wanted) this.#uses.set(jti, one);
  }

  async #create(texts: ReadonlyMap<string, string>, signal: AbortSignal): Promise<ConfigMap> {
    const { apiVersion, kind, name, namespace } = this.#ref();
    const labels = { [MANAGED_BY_LABEL]: MANAGED_BY_VALUE, [CLUSTER_ID_LABEL]: this.#deps.clusterId() };
    const object = { apiVersion, kind, metadata: { name, namespace, labels }, data: Object.fromEntries(texts) };
    return await this.#deps.api.create<ConfigMap>(object, META_FIELD_MANAGER, signal);
  }

  /** With the version that was read: what somebody wrote since then is a conflict. */
  async #patch(
    { metadata, data: had = {} }: ConfigMap,
    texts: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<ConfigMap> {
    const changed = [...texts].filter(([jti, text]) => had[jti] !== text);
    const gone = Object.keys(had).filter((jti) => !texts.has(jti));
    const data = { ...Object.fromEntries(changed), ...Object.fromEntries(gone.map((jti) => [jti, null])) };
    const patch = { metadata: { resourceVersion: metadata.resourceVersion }, data };
    const options = { fieldManager: META_FIELD_MANAGER };
    return await this.#deps.api.mergePatch<ConfigMap>(this.#ref(), patch, options, signal);
  }

  /** What was known stays known: somebody may have deleted the ConfigMap, or an entry in it. */
  async #read(signal: AbortSignal): Promise<void> {
    this.#stored = await this.#deps.api.get<ConfigMap>(this.#ref(), signal);
    for (const [key, text] of Object.entries(this.#stored?.data ?? {})) {
      const use = parseUse(text);
      if (use !== undefined)
        this.#uses.set(key, this.#uses.get(key)?.isSpent === true ? { ...use, isSpent: true } : use);
    }
    this.#isLoaded = true;
  }

  #forgetEnded(): void {
    const end = this.#deps.clock.now().getTime() / 1000 - KEPT_AFTER_END_SECONDS;
    for (const [key, { exp }] of this.#uses) if (exp < end) this.#uses.delete(key);
  }

  #lastOrderOf(uid: string): number {
    return Math.max(0, ...[...this.#uses.values()].filter((use) => use.uid === uid).map(({ order }) => order));
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return await turn;
  }

  #ref() {
    const { namespace = OPERATOR_NAMESPACE } = this.#deps;
    return { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: APPROVALS_CONFIG_MAP };
  }
}

function whose({ kind, metadata }: KubeObject): Pick<ApprovalUse, 'uid' | 'about'> {
  const { uid, namespace = '', name } = metadata;
  if (uid === undefined) throw new Error(`${kind} ${namespace}/${name} has no UID`);
  return { uid, about: `${kind} ${namespace}/${name}` };
}

/** A `jti` may hold what a key of a ConfigMap may not. */
function keyOf(jti: string): string {
  return createHash('sha256').update(jti, 'utf8').digest('base64url');
}

function parseUse(text: string): ApprovalUse | undefined {
  try {
    const use: unknown = JSON.parse(text);
    return Value.Check(ApprovalUse, use) ? use : undefined;
  } catch {
    return undefined;
  }
}
