import type { JSX } from 'preact';
import { PEOPLE_ROUTES, SHELL_ROUTES } from './shell-routes.ts';
import { WORK_ROUTES } from './work-routes.ts';

export interface ViewProps {
  /** What the groups of the pattern matched, decoded. */
  readonly parts: readonly string[];
  readonly parameters: URLSearchParams;
}

export type View = (props: ViewProps) => JSX.Element;

/** Where a link to it stands in the navigation. */
export type NavGroup = 'Run' | 'Review' | 'Record' | 'Set up';

export interface Route {
  readonly pattern: RegExp;
  /** The part of the page that is loaded when somebody first comes here. */
  readonly load: () => Promise<View>;
  readonly nav?: { readonly group: NavGroup; readonly label: string; readonly path: string };
  /** The entry of the navigation that it belongs to, where it has none of its own. */
  readonly under?: string;
}

export const ROUTES: readonly Route[] = [...SHELL_ROUTES, ...WORK_ROUTES, ...PEOPLE_ROUTES];

export interface Match {
  readonly route: Route;
  readonly parts: readonly string[];
}

export function matchRoute(path: string): Match | undefined {
  for (const route of ROUTES) {
    const match = route.pattern.exec(path);
    if (match !== null) return { route, parts: match.slice(1).map((part) => decode(part ?? '')) };
  }
  return undefined;
}

/** Somebody may type anything behind `#`. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
