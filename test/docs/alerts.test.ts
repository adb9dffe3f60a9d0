import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { METRICS } from '../../src/control-plane/metrics/metrics.ts';
import { OPERATOR_METRICS } from '../../src/operator/metrics.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly targets: readonly { readonly refId: string; readonly expr: string }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly type: string; readonly query: string }[] };
}

const read = (file: string): string => readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8');
const { groups } = parse(read('alerts.yaml')) as { groups: { name: string; rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read('grafana-dashboard.json')) as Dashboard;
const expressions = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
  ...dashboard.templating.list
    .filter(({ type }) => type === 'query')
    .map(({ query }) => ['a variable of the dashboard', query] as const),
];

const DEFINITIONS: Readonly<Record<string, { readonly kind: string; readonly labels: readonly string[] }>> = {
  ...METRICS,
  ...OPERATOR_METRICS,
};

/** Every series that the programs write, with the labels that it has; each scrape adds the last two. */
const SERIES = new Map<string, ReadonlySet<string>>(
  Object.entries(DEFINITIONS).flatMap(([name, { kind, labels }]): [string, ReadonlySet<string>][] => {
    const own = [...labels, 'job', 'instance'];
    if (kind !== 'histogram') return [[name, new Set(own)]];
    const parts = ['_sum', '_count'].map((part): [string, ReadonlySet<string>] => [`${name}${part}`, new Set(own)]);
    return [[`${name}_bucket`, new Set([...own, 'le'])], ...parts];
  }),
);

const named = (expr: string): string[] => [...expr.matchAll(/\bservice_\w+/g)].map(([name]) => name);

/** What an expression asks of labels: in selectors of a series, and in `by (…)` of all of its series. */
function unknownLabels(expr: string): string[] {
  const selected = [...expr.matchAll(/(service_\w+)\{([^}]*)\}/g)].flatMap(([, name = '', selectors = '']) =>
    [...selectors.matchAll(/(\w+)\s*(?:=~|!=|!~|=)/g)].map(([, label = '']) => [name, label] as const),
  );
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) =>
    labels.split(',').flatMap((label) => named(expr).map((name) => [name, label.trim()] as const)),
  );
  return [...selected, ...grouped].filter(([name, label]) => SERIES.get(name)?.has(label) !== true).map(String);
}

/** Brackets that do not match are the fault of an expression that is easiest to make by hand. */
function isBalanced(expr: string): boolean {
  const open: string[] = [];
  for (const sign of expr.replaceAll(/"[^"]*"/g, '')) {
    if ('([{'.includes(sign)) open.push(sign);
    else if (')]}'.includes(sign) && open.pop() !== '([{'[')]}'.indexOf(sign)]) return false;
  }
  return open.length === 0;
}

it.each(expressions)('%s: %s names only metrics and labels that there are', (_, expr) => {
  expect(named(expr)).not.toEqual([]);
  expect(named(expr).filter((name) => !SERIES.has(name))).toEqual([]);
  expect(unknownLabels(expr)).toEqual([]);
  expect(isBalanced(expr)).toBe(true);
});

describe('the rules of Prometheus', () => {
  it('are named once, say how bad it is, and what to do', () => {
    expect(rules.length).toBeGreaterThan(10);
    expect(new Set(rules.map((rule) => rule.alert)).size).toBe(rules.length);
    for (const { alert, labels, annotations, for: lasting } of rules) {
      expect(alert).toMatch(/^Service[A-Z]\w+$/);
      expect(['critical', 'warning', 'info']).toContain(labels['severity']);
      expect(Object.keys(annotations).toSorted()).toEqual(['description', 'summary']);
      if (lasting !== undefined) expect(lasting).toMatch(/^\d+[smh]$/);
    }
  });

  it('each stand in docs/operations.md, and no other does', () => {
    const [, section = ''] = read('operations.md').split('## Alerts\n');
    const told = [...(section.split(/\n## /)[0] ?? '').matchAll(/^\| `(Service\w+)`/gm)].map(([, name = '']) => name);
    expect(told.toSorted()).toEqual(rules.map((rule) => rule.alert).toSorted());
  });
});

describe('the dashboard of Grafana', () => {
  it('has panels with a place of their own on a board of 24 columns', () => {
    const taken = new Set<string>();
    for (const { title, gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect([title, taken.has(`${x}/${y}`)]).toEqual([title, false]);
          taken.add(`${x}/${y}`);
        }
      }
    }
    expect(new Set(dashboard.panels.map((panel) => panel.id)).size).toBe(dashboard.panels.length);
  });

  it('shows every metric of the control plane', () => {
    const shown = new Set(dashboard.panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => named(expr))));
    const bare = new Set([...shown].map((name) => name.replace(/_(bucket|sum|count)$/, '')));
    expect(Object.keys(METRICS).filter((name) => !bare.has(name))).toEqual([]);
  });
});
