import type { Reporter } from '../events/report/reporter.ts';
import { changedConditions } from '../resources/conditions.ts';
import { reportStatus, type OwnObject, type StatusDraft } from './write-status.ts';

interface Told {
  readonly draft: StatusDraft;
  /** Writes in a row that came to nothing. */
  readonly tries: number;
}

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 300_000;

/**
 * What would stand in a status if the operator could write it. Where it has no rights to, or the server does not take it,
 * only the control plane can be told of it: once for each change, and again when it is written after all.
 */
export class UnwrittenStatus {
  readonly #reporter: Reporter;
  readonly #told = new Map<string, Told>();

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  /** The write was denied or refused. Answers whether that was new. */
  tell(object: OwnObject, draft: StatusDraft): boolean {
    const uid = object.metadata.uid ?? '';
    const told = this.#told.get(uid);
    const tries = (told?.tries ?? 0) + 1;
    const isSame = told?.draft.source.epoch === draft.source.epoch;
    if (told !== undefined && isSame && changedConditions(told.draft.conditions, draft.conditions).length === 0) {
      this.#told.set(uid, { draft: told.draft, tries });
      return false;
    }
    this.#told.set(uid, { draft, tries });
    reportStatus(this.#reporter, as(object, told?.draft), draft);
    return true;
  }

  /** The status says `draft` now: what was told in between is taken back by it. */
  written(object: OwnObject, draft: StatusDraft): void {
    const uid = object.metadata.uid ?? '';
    const told = this.#told.get(uid);
    if (!this.#told.delete(uid)) return;
    reportStatus(this.#reporter, as(object, told?.draft), draft);
  }

  forget(object: OwnObject): void {
    this.#told.delete(object.metadata.uid ?? '');
  }

  of(object: OwnObject): StatusDraft | undefined {
    return this.#told.get(object.metadata.uid ?? '')?.draft;
  }

  /** When the write is worth another try, in milliseconds: later each time. Undefined when nothing is unwritten. */
  retryAfterMs(object: OwnObject): number | undefined {
    const tries = this.#told.get(object.metadata.uid ?? '')?.tries;
    return tries === undefined ? undefined : Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (tries - 1));
  }
}

function as(object: OwnObject, told: StatusDraft | undefined): OwnObject {
  return told === undefined ? object : { ...object, status: { ...object.status, conditions: told.conditions } };
}
