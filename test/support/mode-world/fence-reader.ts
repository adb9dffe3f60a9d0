import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { ConnectivityMode } from '../../../src/protocol/connectivity-mode.ts';
import { FIELD_MANAGER, PUSH_FIELD_MANAGER } from '../../../src/resources/labels.ts';
import { WRITERS, type Fence, type Writer } from './payload-writes.ts';

const FENCE = `SELECT c.delivery_epoch AS epoch, c.delivery_held AS held, c.connectivity_mode AS mode,
    s.state AS state, s.from_mode AS origin, s.before AS before
  FROM clusters AS c LEFT JOIN mode_switches AS s ON s.open_for = c.id`;
const OPEN = `SELECT (SELECT count(*) FROM mode_switches WHERE open_for IS NOT NULL) AS switches,
  (SELECT count(*) FROM intents WHERE state IN ('accepted', 'proposed', 'delivered', 'applied')) AS intents`;

interface FenceRow {
  readonly epoch: number;
  readonly held: number;
  readonly mode: ConnectivityMode;
  readonly state: string | null;
  readonly origin: ConnectivityMode | null;
  readonly before: string | null;
}

/** Reads a control plane's database of one cluster beside it, whether it runs or not: by one connection, as it is asked often. */
export class FenceReader implements Disposable {
  readonly #database: DatabaseSync;
  readonly #fence: StatementSync;
  readonly #open: StatementSync;

  constructor(file: string) {
    this.#database = new DatabaseSync(file, { timeout: 5000, readOnly: true });
    this.#fence = this.#database.prepare(FENCE);
    this.#open = this.#database.prepare(OPEN);
  }

  /** Who may write now; undefined before there is a cluster. */
  fence(): Fence | undefined {
    const row = this.#fence.get() as FenceRow | undefined;
    if (row === undefined) return undefined;
    const { epoch, held, mode, state, origin, before } = row;
    if (held === 0 || origin === null) return { epoch, writers: [writerOf(mode)], isHeld: false };
    // Once the new way had begun its last write may be on its way; before that only one of the old way's may.
    const { delivered } = JSON.parse(before ?? '{}') as { readonly delivered?: boolean };
    const isFirst = delivered !== true && (state === 'fencing' || state === 'rolling-back');
    return { epoch, writers: isFirst ? [writerOf(origin)] : WRITERS, isHeld: true };
  }

  /** Switches, and intents, that are not over yet. */
  open(): { readonly switches: number; readonly intents: number } {
    return this.#open.get() as { switches: number; intents: number };
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

function writerOf(mode: ConnectivityMode): Writer {
  return mode === 'push' ? PUSH_FIELD_MANAGER : FIELD_MANAGER;
}
