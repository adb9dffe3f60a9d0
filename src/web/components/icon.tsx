import type { JSX } from 'preact';

/** Paths of 16 by 16, drawn with the colour of the text around. */
const PATHS = {
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  check: 'm3 8.5 3.2 3.2L13 5',
  close: 'm4 4 8 8m0-8-8 8',
  search: 'M11.2 11.2 14 14M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10z',
  menu: 'M2 4h12M2 8h12M2 12h12',
  link: 'M7 9a2.5 2.5 0 0 0 3.5 0l2.3-2.3a2.5 2.5 0 0 0-3.5-3.5L8 4.5M9 7a2.5 2.5 0 0 0-3.5 0L3.2 9.3a2.5 2.5 0 0 0 3.5 3.5L8 11.5',
  light:
    'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.4 1.4M11.6 11.6 13 13M3 13l1.4-1.4M11.6 4.4 13 3',
  dark: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z',
  system: 'M2 3h12v8H2zM5.5 14h5M8 11v3',
  user: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.6-2.6 2.7-4 5.5-4s4.9 1.4 5.5 4',
  retry: 'M13 8a5 5 0 1 1-1.5-3.6L13 6M13 2.5V6H9.5',
  next: 'm6 3 5 5-5 5',
  warning: 'M8 2 15 14H1zM8 6.5v3.5M8 12v.1',
  lock: 'M4 7h8v7H4zM5.5 7V5a2.5 2.5 0 0 1 5 0v2',
  offline:
    'M2 2l12 12M4.5 8.8A5 5 0 0 1 7 7.4M2 6.2a9 9 0 0 1 2.5-1.7M7.5 4a9 9 0 0 1 6.5 2.2M10.6 8.2c.4.2.7.4 1 .7M8 12v.1',
  empty: 'M2 9h3.5l1 2h3l1-2H14M2 9l2-6h8l2 6v4H2z',
} as const;

export type IconName = keyof typeof PATHS;

/** Beside words, never instead of them: it is not read out. */
export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
