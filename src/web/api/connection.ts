import { backoff } from './backoff.ts';

const FIRST_MS = 1000;
const MOST_MS = 20_000;
const PROBE_TIMEOUT_MS = 5000;

/** Whether the control plane answers. While it does not, it is asked again and again, and who waits is told. */
export interface ConnectionState {
  readonly online: boolean;
}

let state: ConnectionState = { online: true };
let attempt = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function change(next: ConnectionState): void {
  state = next;
  for (const listener of listeners) listener();
}

function schedule(): void {
  const delay = backoff(attempt, FIRST_MS, MOST_MS);
  attempt += 1;
  clearTimeout(timer);
  timer = setTimeout(() => void probe(), delay);
  change({ online: false });
}

async function probe(): Promise<void> {
  try {
    const answer = await fetch('/healthz', { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS), cache: 'no-store' });
    if (!answer.ok) throw new Error(`answered ${answer.status}`);
    connection.works();
  } catch {
    schedule();
  }
}

export const connection = {
  state: (): ConnectionState => state,

  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },

  works: (): void => {
    attempt = 0;
    clearTimeout(timer);
    if (!state.online) change({ online: true });
  },

  lost: (): void => {
    if (state.online) schedule();
  },

  tryNow: (): void => {
    clearTimeout(timer);
    void probe();
  },
};

// The browser knows first.
addEventListener('online', () => {
  if (!state.online) connection.tryNow();
});
