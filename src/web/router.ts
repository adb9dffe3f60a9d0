import { query, type Parameters } from './api/client.ts';
import { useStore } from './use-store.ts';

/** What stands behind `#` in the address. */
export interface Address {
  readonly path: string;
  readonly parameters: URLSearchParams;
  readonly whole: string;
}

function read(): Address {
  const whole = location.hash.slice(1) || '/';
  const [path = '/', parameters = ''] = whole.split('?', 2);
  return { path: path === '' ? '/' : path, parameters: new URLSearchParams(parameters), whole };
}

let present = read();
let focused: Element | null = null;
const listeners = new Set<() => void>();

/** Of the address that there is now, however it came. */
export function readAddress(): void {
  const next = read();
  if (next.whole === present.whole) return;
  present = next;
  focused = document.activeElement;
  for (const listener of listeners) listener();
}

addEventListener('hashchange', readAddress);
addEventListener('popstate', readAddress);

export const addressStore = {
  state: (): Address => present,
  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};

/** Whether what has the focus had it when the address changed, or nothing has it: nobody has gone on since to somewhere else. */
export function isFocusWhereLeft(): boolean {
  const { activeElement } = document;
  return activeElement === null || activeElement === document.body || activeElement === focused;
}

export const useAddress = (): Address => useStore(addressStore);

/** An address of the page for a link: `href(path`/intents/${id}`, { tab })`. */
export function href(path: string, parameters: Parameters = {}): string {
  return `#${path}${query(parameters)}`;
}

/** Goes there. `replace`: without a step in the browser's history, as for each letter of a filter. */
export function go(path: string, parameters: Parameters = {}, how: 'push' | 'replace' = 'push'): void {
  const address = href(path, parameters);
  if (how === 'push') location.hash = address;
  else {
    history.replaceState(null, '', address);
    readAddress();
  }
}

/** Changes parameters of the present address; undefined or '' takes one away. */
export function setParameters(changes: Parameters, how: 'push' | 'replace' = 'push'): void {
  const { path, parameters } = present;
  go(path, { ...Object.fromEntries(parameters), ...changes }, how);
}
