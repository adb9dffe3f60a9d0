import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { AUDIT_FILTERS, withNewer, type AuditEntry } from '../api/audit.ts';
import { query, type Page as PageOf } from '../api/client.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { FilterBar, type FilterField } from '../components/filter-bar.tsx';
import { ClusterLink, IntentLink } from '../components/links.tsx';
import { Pager } from '../components/pager.tsx';
import { SavedFilters } from '../components/saved-filters.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { TextWithTimes } from '../components/text-with-times.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import { href, setParameters } from '../router.ts';
import type { ViewProps } from '../routes.ts';

const FIELDS: readonly FilterField[] = [
  { name: 'q', label: 'Words', placeholder: 'in the summary' },
  { name: 'cluster', label: 'Cluster', placeholder: 'slug' },
  { name: 'actor', label: 'Who', placeholder: 'name' },
  { name: 'kind', label: 'What', placeholder: 'such as ModeSwitch' },
  {
    name: 'source',
    label: 'Told by',
    options: [
      ['user', 'people'],
      ['agent', 'operators'],
    ],
  },
  { name: 'resource', label: 'Resource', placeholder: 'kind/namespace/name' },
  { name: 'intent', label: 'Intent', placeholder: 'int-…' },
  { name: 'since', label: 'From', kind: 'date' },
  { name: 'until', label: 'Until', kind: 'date' },
];
/** While it is followed so many are kept on the screen. */
const MOST = 500;

const COLUMNS: readonly Column<AuditEntry>[] = [
  { head: 'When', look: 'tight', cell: ({ at }) => <When at={at} /> },
  { head: 'Who', cell: ({ actor, source }) => actor ?? <span class="quiet">{source}</span> },
  { head: 'What', cell: ({ kind }) => <a href={href('/audit', { kind })}>{kind}</a> },
  { head: 'Summary', look: 'fill', cell: (entry) => <Summary entry={entry} /> },
  {
    head: 'Cluster',
    cell: ({ clusterId, clusterSlug }) =>
      clusterSlug === undefined ? clusterId && <code>{clusterId}</code> : <ClusterLink slug={clusterSlug} />,
  },
  { head: 'Intent', cell: ({ intentId }) => intentId && <IntentLink id={intentId} /> },
];

function Summary({ entry: { summary, reason, resourceRef } }: { readonly entry: AuditEntry }): JSX.Element {
  const { kind, namespace, name } = resourceRef ?? {};
  return (
    <>
      <TextWithTimes text={summary} />
      {reason !== undefined && !summary.includes(reason) && <span class="quiet"> ({reason})</span>}
      {kind !== undefined && (
        <span class="quiet">
          {' '}
          {kind} {namespace === undefined ? name : `${namespace}/${name}`}
        </span>
      )}
    </>
  );
}

/** Who did what, the newest first. `follow=1` shows what comes as it comes. */
export function AuditView({ parameters }: ViewProps): JSX.Element {
  const isFollowed = parameters.get('follow') === '1';
  const filter = Object.fromEntries(AUDIT_FILTERS.map((name) => [name, asTime(name, parameters.get(name))]));
  const cursor = isFollowed ? undefined : (parameters.get('cursor') ?? undefined);
  const address = `/audit${query({ ...filter, cursor })}`;
  const list = useResource<PageOf<AuditEntry>>(address, isFollowed ? isOf('audit') : undefined);
  const [kept, keep] = useState<{ readonly of: string; readonly entries: readonly AuditEntry[] }>();
  const { data } = list;
  useEffect(() => {
    if (!isFollowed || data === undefined) return;
    keep((before) => ({
      of: address,
      entries: withNewer(before?.of === address ? before.entries : data.items, data.items, MOST),
    }));
  }, [data, isFollowed, address]);

  return (
    <Page title="Audit">
      <FilterBar label="Filter the audit" fields={FIELDS}>
        <button
          type="button"
          aria-pressed={isFollowed}
          onClick={() => setParameters({ follow: isFollowed ? undefined : '1', cursor: undefined })}
        >
          Follow
        </button>
        <SavedFilters list="audit" />
      </FilterBar>
      <Loaded of={list}>
        {({ items, nextCursor }) => {
          const rows = isFollowed && kept?.of === address ? kept.entries : items;
          return rows.length === 0 ? (
            <Empty title="No entry fits" />
          ) : (
            <>
              <Table caption="Audit" columns={COLUMNS} rows={rows} rowKey={({ id }) => String(id)} />
              {isFollowed ? (
                <p class="quiet" role="status">
                  New entries come by themselves.
                </p>
              ) : (
                <Pager next={nextCursor} />
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

/** A day of the reader's calendar as its first, or last, moment. */
function asTime(name: string, value: string | null): string | undefined {
  if (value === null || value === '') return undefined;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value)) return value;
  if (name === 'since') return new Date(`${value}T00:00:00`).toISOString();
  return name === 'until' ? new Date(`${value}T23:59:59.999`).toISOString() : value;
}
