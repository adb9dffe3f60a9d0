import type { LookupRules } from '../guarded-lookup.ts';
import type { RepositoryRow } from '../store/schema.ts';
import { HostAccess, type HostAccessDeps } from './host-access.ts';

/** Connections and tokens that are kept warm; those used longest ago go first. */
const MAX_WARM = 128;
/** Longer than any exchange takes that still uses what was replaced. */
const RETIRED_MS = 180_000;

interface Warm {
  readonly signature: string;
  readonly access: Promise<HostAccess>;
}

/**
 * The opened repositories of other hosts. One whose credentials or settings have changed in the database is opened anew,
 * whichever process changed them; what runs by the old ones ends in its own time.
 */
export class HostAccesses implements AsyncDisposable {
  readonly #deps: HostAccessDeps;
  readonly #warm = new Map<string, Warm>();
  readonly #retired = new Set<HostAccess>();
  readonly #stop = new AbortController();

  constructor(deps: HostAccessDeps) {
    this.#deps = deps;
  }

  /** @throws Error where the row is not another host's, or its credentials do not open */
  async of(row: RepositoryRow): Promise<HostAccess> {
    const signature = signatureOf(row);
    const known = this.#warm.get(row.id);
    if (known !== undefined) this.#warm.delete(row.id);
    if (known?.signature === signature) {
      this.#warm.set(row.id, known);
      return await known.access;
    }
    const access = HostAccess.open(row, this.#deps);
    const warm = { signature, access };
    this.#warm.set(row.id, warm);
    if (known !== undefined) void this.#retire(known);
    const [oldest] = this.#warm;
    if (this.#warm.size > MAX_WARM && oldest !== undefined) {
      this.#warm.delete(oldest[0]);
      void this.#retire(oldest[1]);
    }
    try {
      return await access;
    } catch (error) {
      if (this.#warm.get(row.id) === warm) this.#warm.delete(row.id);
      throw error;
    }
  }

  /** By connections of its own, for a row that is not stored yet; the caller disposes of it. */
  async openAlone(row: RepositoryRow): Promise<HostAccess> {
    return await HostAccess.open(row, this.#deps);
  }

  /** Which addresses may be called. */
  get rules(): LookupRules {
    return this.#deps.rules;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the control plane is stopping'));
    const warm = await Promise.allSettled([...this.#warm.values()].map(async ({ access }) => await access));
    this.#warm.clear();
    const open = [...this.#retired, ...warm.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))];
    this.#retired.clear();
    await Promise.all(open.map(async (access) => await access[Symbol.asyncDispose]()));
  }

  /** Never rejects. */
  async #retire({ access }: Warm): Promise<void> {
    const old = await access.catch(() => undefined);
    if (old === undefined) return;
    this.#retired.add(old);
    await this.#deps.clock.sleep(RETIRED_MS, this.#stop.signal).catch(() => undefined);
    if (this.#retired.delete(old)) await old[Symbol.asyncDispose]();
  }
}

/** Changes when anything does that a connection or a token was made of. */
export function signatureOf(row: RepositoryRow): string {
  return JSON.stringify([row.url, row.branch, row.layout, row.host, row.host_settings, row.credentials_sealed]);
}
