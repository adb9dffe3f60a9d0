import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { JobDesk } from './job-desk.ts';
import type { JobJournal } from './job-journal.ts';

export interface WatchJournalDeps {
  readonly journal: Pick<JobJournal, 'mend'>;
  readonly desk: Pick<JobDesk, 'get' | 'list'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export const JOURNAL_LOOK_MS = 30_000;

/**
 * Looks whether each open job is in the journal, at once and from time to time: what was acknowledged stands nowhere else,
 * and a crash after somebody deleted its Secret would lose it. By looking, since the operator may not list or watch Secrets.
 * Runs until aborted.
 */
export async function watchJournal(deps: WatchJournalDeps, signal: AbortSignal): Promise<void> {
  const { journal, desk, clock, logger } = deps;
  while (!signal.aborted) {
    for (const open of desk.list()) {
      const isOpen = (): boolean => desk.get(open.job.id) === open;
      if (!isOpen()) continue;
      try {
        await journal.mend(open, isOpen, signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.debug({ err: error, job: open.job.id }, 'the journal cannot be looked at; it is at the next turn');
        break;
      }
    }
    await clock.sleep(JOURNAL_LOOK_MS, signal).catch(() => undefined);
  }
}
