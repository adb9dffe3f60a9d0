import type { Delivery, Probe } from '../../delivery/delivery.ts';

/** A transport by which nothing goes out for now. */
export function waitingDelivery(message: string): Delivery {
  const probe: Probe = { state: 'unreachable', message };
  return {
    probe: async () => await Promise.resolve(probe),
    deliver: async function* (batch) {
      for (const { intent } of batch) {
        yield await Promise.resolve({ state: 'retry', intentId: intent.id, message } as const);
      }
    },
    [Symbol.asyncDispose]: async () => await Promise.resolve(),
  };
}
