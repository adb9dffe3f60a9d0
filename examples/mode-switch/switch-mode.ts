import type { AdminClient } from '../../src/cli/admin-client.ts';
import type { ConnectivityMode } from '../../src/protocol/connectivity-mode.ts';
import { systemClock } from '../../src/runtime/clock.ts';

const LOOK_MS = 100;
const LIMIT_MS = 5 * 60_000;

export interface CredentialEnd {
  readonly kind: string;
  readonly name: string;
  readonly change: string;
  readonly at?: string;
  readonly message: string;
}

/** What the admin API says of a switch. */
export interface ShownSwitch {
  readonly id: string;
  readonly state: string;
  readonly phase: string;
  readonly reason?: string;
  readonly steps: readonly { readonly state: string; readonly at: string; readonly message: string }[];
  readonly credentials: readonly CredentialEnd[];
  readonly requestedAt: string;
  readonly finishedAt?: string;
}

/** Asks for a switch and follows it to its end. */
export async function switchMode(
  admin: AdminClient,
  clusterId: string,
  to: ConnectivityMode,
  more: Readonly<Record<string, unknown>>,
): Promise<ShownSwitch> {
  const path = `/clusters/${clusterId}`;
  const asked = await admin.call<{ switch: ShownSwitch }>('POST', `${path}/mode`, { mode: to, ...more });
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    const shown = await admin.call<ShownSwitch>('GET', `${path}/mode-switches/${asked.switch.id}`);
    if (shown.finishedAt !== undefined) return shown;
    if (performance.now() > deadline) throw new Error(`the switch to ${to} is still ${shown.state}`);
    await systemClock.sleep(LOOK_MS);
  }
}

/** How long each state lasted, in milliseconds, in their order. */
export function durations({
  steps,
  finishedAt,
}: ShownSwitch): readonly { readonly state: string; readonly ms: number }[] {
  return steps.flatMap(({ state, at }, index) => {
    const end = steps[index + 1]?.at ?? finishedAt;
    if (end === undefined || end === at) return [];
    return [{ state, ms: Date.parse(end) - Date.parse(at) }];
  });
}
