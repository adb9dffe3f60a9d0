import type { ClusterRow, ModeSwitchRow } from '../store/schema.ts';
import { probesOf } from './mode-switch.ts';
import type { HandoverCount } from './switch-pages.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** An operator that was heard within this is there; when exactly says nothing then. */
const RECENT_MS = 2 * MINUTE_MS;

/**
 * What a switch that is not over waits for, in words behind "waiting for"; undefined where it waits for nobody.
 *
 * @param workedOn jobs of the old way that the operator has acknowledged and not ended
 */
export function waitingFor(
  row: Pick<ModeSwitchRow, 'phase' | 'epoch' | 'probes'>,
  cluster: Pick<ClusterRow, 'reported_epoch' | 'last_contact_at'>,
  count: HandoverCount,
  workedOn: number,
  now: Date,
): string | undefined {
  const { phase, epoch } = row;
  const contact = lastContact(cluster.last_contact_at, now);
  switch (phase) {
    case 'requested':
    case 'over':
      return undefined;
    case 'probing': {
      const failed = probesOf(row).filter(({ ok }) => !ok);
      return failed.length === 0
        ? undefined
        : `a probe to pass: ${failed.map((one) => `${one.name}: ${one.message}`).join('; ')}`;
    }
    case 'fencing':
      if ((cluster.reported_epoch ?? 0) < (epoch ?? 0)) return `the operator at epoch ${epoch}; ${contact}`;
      return workedOn === 0 ? undefined : `${jobs(workedOn)} that the operator is working on; ${contact}`;
    case 'handing-over':
      return `delivery of ${count.total - count.delivered} of ${objects(count.total)}`;
    case 'confirming':
      return `the operator to report ${count.total - count.confirmed} of ${objects(count.total)} at epoch ${epoch}; ${contact}`;
  }
}

function lastContact(at: string | null, now: Date): string {
  if (at === null) return 'no contact yet';
  const ms = now.getTime() - Date.parse(at);
  if (ms < RECENT_MS) return 'in contact';
  const [number, unit] =
    ms < 2 * HOUR_MS ? [ms / MINUTE_MS, 'min'] : ms < 3 * DAY_MS ? [ms / HOUR_MS, 'h'] : [ms / DAY_MS, 'days'];
  return `last contact ${Math.floor(number)} ${unit} ago`;
}

function jobs(count: number): string {
  return count === 1 ? '1 job' : `${count} jobs`;
}

function objects(count: number): string {
  return count === 1 ? '1 object' : `${count} objects`;
}
