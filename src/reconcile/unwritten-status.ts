import type { Reporter } from '../events/report/reporter.ts';
import { changedConditions } from '../resources/conditions.ts';
import { reportStatus, type OwnObject, type StatusDraft } from './write-status.ts';

/**
 * What would stand in a status if the operator had the rights to write it. Where they are missing only the control plane
 * can be told of it: once for each change, and again when the rights are back.
 */
export class UnwrittenStatus {
  readonly #reporter: Reporter;
  readonly #told = new Map<string, StatusDraft>();

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  /** The write was denied. */
  tell(object: OwnObject, draft: StatusDraft): void {
    const uid = object.metadata.uid ?? '';
    const told = this.#told.get(uid);
    if (told !== undefined && changedConditions(told.conditions, draft.conditions).length === 0) return;
    this.#told.set(uid, draft);
    reportStatus(this.#reporter, as(object, told), draft);
  }

  /** The status says `draft` now: what was told in between is taken back by it. */
  written(object: OwnObject, draft: StatusDraft): void {
    const uid = object.metadata.uid ?? '';
    const told = this.#told.get(uid);
    if (!this.#told.delete(uid)) return;
    reportStatus(this.#reporter, as(object, told), draft);
  }

  forget(object: OwnObject): void {
    this.#told.delete(object.metadata.uid ?? '');
  }

  of(object: OwnObject): StatusDraft | undefined {
    return this.#told.get(object.metadata.uid ?? '');
  }
}

function as(object: OwnObject, told: StatusDraft | undefined): OwnObject {
  return told === undefined ? object : { ...object, status: { ...object.status, conditions: told.conditions } };
}
