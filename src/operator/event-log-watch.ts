import type { EventLogMark } from '../protocol/event-log.ts';

/** Notices a control plane that has forgotten events which it had taken: it was restored from an older backup. */
export class EventLogWatch {
  #after = 0;

  /** Whether this answer shows it. */
  hasForgotten(mark: EventLogMark | undefined): boolean {
    if (mark === undefined) return false;
    const before = this.#after;
    this.#after = mark.after;
    return mark.before < before;
  }
}
