import { toneOf, type Paint } from './colours.ts';
import { factsText, sectionText, type Column, type Fact } from './output.ts';
import { timelineText, type TimelineItem } from './timeline-text.ts';

/** An application of the admin API. */
export interface ListedApp {
  readonly clusterSlug: string;
  readonly namespace: string;
  readonly name: string;
  readonly catalogEntry?: string;
  readonly version?: string;
  readonly state: string;
  readonly health: string;
  readonly intentId: string;
  readonly generation: number;
  readonly action: string;
  readonly reason?: string;
  readonly requestedBy: string;
  readonly requestedAt: string;
  readonly observedVersion?: string;
  readonly newestAllowed?: string;
  readonly isUpgradeAvailable?: boolean;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** One with what its operator reported. */
export interface ShownApp extends ListedApp {
  readonly conditions: readonly Condition[];
  /** The way of its newest intent. */
  readonly timeline?: readonly TimelineItem[];
}

export const APP_COLUMNS: readonly Column<ListedApp>[] = [
  { header: 'CLUSTER', value: ({ clusterSlug }) => clusterSlug },
  { header: 'NAME', value: ({ namespace, name }) => `${namespace}/${name}` },
  { header: 'ENTRY', value: ({ catalogEntry }) => catalogEntry },
  { header: 'VERSION', value: ({ version }) => version },
  { header: 'STATE', value: ({ state }) => state, tone: ({ state }) => toneOf(state) },
  { header: 'HEALTH', value: ({ health }) => health, tone: ({ health }) => toneOf(health) },
  {
    header: 'UPGRADE',
    value: ({ isUpgradeAvailable, newestAllowed }) => (isUpgradeAvailable === true ? newestAllowed : undefined),
    tone: () => 'warning',
  },
  { header: 'RUNS', value: ({ observedVersion }) => observedVersion, isWide: true },
  { header: 'ACTION', value: ({ action }) => action, isWide: true },
  { header: 'GENERATION', value: ({ generation }) => generation, isWide: true },
  { header: 'INTENT', value: ({ intentId }) => intentId, isWide: true },
  { header: 'BY', value: ({ requestedBy }) => requestedBy, isWide: true },
  { header: 'AT', value: ({ requestedAt }) => requestedAt, isWide: true },
  { header: 'BECAUSE', value: ({ reason }) => reason, isWide: true },
];

export function appName({ clusterSlug, namespace, name }: ListedApp): string {
  return `${clusterSlug}/${namespace}/${name}`;
}

const CONDITION_COLUMNS: readonly Column<Condition>[] = [
  { header: 'CONDITION', value: ({ type }) => type },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => (status === 'Unknown' ? 'dim' : undefined) },
  { header: 'REASON', value: ({ reason }) => reason },
  { header: 'SINCE', value: ({ lastTransitionTime }) => lastTransitionTime, isWide: true },
  { header: 'MESSAGE', value: ({ message }) => message },
];

/** A line for each fact, then what its operator reported, and the way of its newest intent. */
export function appText(app: ShownApp, how: { readonly isWide?: boolean; readonly paint?: Paint } = {}): string {
  const upgrade = app.isUpgradeAvailable === true ? `${app.newestAllowed ?? 'a newer version'} is allowed` : undefined;
  const facts: readonly Fact[] = [
    ['name', `${app.namespace}/${app.name}`],
    ['cluster', app.clusterSlug],
    ['entry', app.catalogEntry],
    ['version', app.version],
    ['runs', app.observedVersion],
    ['upgrade', upgrade, 'warning'],
    ['health', app.health, toneOf(app.health)],
    ['state', app.reason === undefined ? app.state : `${app.state}: ${app.reason}`, toneOf(app.state)],
    ['intent', `${app.intentId}: ${app.action}, generation ${app.generation}`],
    ['asked by', `${app.requestedBy} at ${app.requestedAt}`],
  ];
  const journey = app.timeline === undefined ? '' : `\n${timelineText({ items: app.timeline }, how.paint)}`;
  return `${factsText(facts, how.paint)}${sectionText(app.conditions, CONDITION_COLUMNS, how)}${journey}`;
}
