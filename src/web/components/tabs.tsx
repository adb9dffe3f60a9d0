import type { JSX } from 'preact';

export interface Tab {
  readonly label: string;
  readonly href: string;
  readonly isCurrent: boolean;
  readonly count?: number;
}

/** Tabs that are addresses: links, of which one is the present page. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }): JSX.Element {
  return (
    <nav class="tabs" aria-label={label}>
      <ul>
        {tabs.map((tab) => (
          <li key={tab.label}>
            <a href={tab.href} {...(tab.isCurrent ? { 'aria-current': 'page' as const } : {})}>
              {tab.label}
              {tab.count === undefined ? null : <span class="count">{tab.count}</span>}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
