import type { JSX } from 'preact';
import { useStore } from '../use-store.ts';
import { Icon } from './icon.tsx';

const SHOWN_MS = 6000;
const MOST = 4;

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: 'done' | 'fault';
}

let toasts: readonly Toast[] = [];
let count = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

const store = {
  state: (): readonly Toast[] => toasts,
  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};

const dismiss = (id: number): void => change(toasts.filter((toast) => toast.id !== id));

/** Says it in a corner, and to a screen reader. A fault stays until it is closed. */
export function toast(text: string, kind: Toast['kind'] = 'done'): void {
  count += 1;
  const id = count;
  change([...toasts, { id, text, kind }].slice(-MOST));
  if (kind === 'done') setTimeout(() => dismiss(id), SHOWN_MS);
}

/** Stands in the page once, from the start: a live region that comes with its text is not read out. */
export function Toasts(): JSX.Element {
  const shown = useStore(store);
  return (
    <div class="toasts" role="status" aria-live="polite" aria-relevant="additions">
      {shown.map(({ id, text, kind }) => (
        <div key={id} class={`toast ${kind}`}>
          <Icon name={kind === 'done' ? 'check' : 'warning'} />
          <span>{text}</span>
          <button type="button" class="bare" aria-label="Close this message" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
