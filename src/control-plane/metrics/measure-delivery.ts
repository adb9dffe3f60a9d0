import type { Receipt } from '../../delivery/delivery.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { FinalReceipt } from '../receipt-writer.ts';
import type { QueuedIntent, WorkQueue } from '../store/delivery-queue.ts';
import type { Measuring } from './control-plane-metrics.ts';

export interface DeliveryMeasuring {
  readonly clock: Clock;
  readonly measuring?: Pick<Measuring, 'count' | 'observe'>;
}

/** The receipts of one batch as they come, and how long a repository took for it. */
export async function* measured(
  { clock, measuring }: DeliveryMeasuring,
  queue: WorkQueue,
  receipts: AsyncIterable<Receipt>,
): AsyncGenerator<Receipt> {
  const began = clock.now().getTime();
  let outcome = 'failed';
  try {
    for await (const receipt of receipts) {
      // What is said of it comes at its end, once for each intent.
      outcome = receipt.state === 'retry' && receipt.alone !== true ? 'failed' : 'done';
      yield receipt;
    }
  } finally {
    const seconds = (clock.now().getTime() - began) / 1000;
    if (queue.mode === 'gitops') measuring?.observe('service_git_push_duration_seconds', { outcome }, seconds);
  }
}

/** A receipt that was stored. What a switch of mode brings once more was delivered before. */
export function measureReceipt(
  { clock, measuring }: DeliveryMeasuring,
  intent: QueuedIntent,
  { state }: FinalReceipt,
): void {
  const mode = intent.connectivity_mode;
  measuring?.count('service_receipts_total', { mode, state });
  if (state !== 'delivered' || intent.handover !== null) return;
  const seconds = (clock.now().getTime() - Date.parse(intent.accepted_at)) / 1000;
  measuring?.observe('service_delivery_duration_seconds', { mode }, seconds);
}
