import type { JSX } from 'preact';
import { path, query, type Page as PageOf } from '../api/client.ts';
import { APPROVAL_STATES, missingText, type Approval } from '../api/reviews.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Badge } from '../components/badge.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { ClusterLink } from '../components/links.tsx';
import { Pager } from '../components/pager.tsx';
import { SavedFilters } from '../components/saved-filters.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { Tabs } from '../components/tabs.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import { href } from '../router.ts';
import type { ViewProps } from '../routes.ts';

const COLUMNS: readonly Column<Approval>[] = [
  {
    head: 'What',
    look: 'fill',
    cell: (one) => <a href={href(path`/approvals/${one.id}`)}>{subjectOf(one)}</a>,
  },
  { head: 'Cluster', cell: ({ clusterSlug }) => <ClusterLink slug={clusterSlug} /> },
  { head: 'Asked for by', cell: ({ requestedBy }) => requestedBy },
  { head: 'State', cell: ({ state }) => <Badge state={state} /> },
  {
    head: 'Missing',
    cell: ({ state, missing }) => (state === 'pending' ? missingText(missing) || 'nobody' : ''),
  },
  {
    head: 'Falls',
    look: 'tight',
    cell: ({ state, expiresAt }) => (state === 'pending' ? <When at={expiresAt} /> : null),
  },
];

/** `velero-restore shop/restore-1`, `install shop/web`. */
export function subjectOf({ template, action, namespace, name }: Approval): string {
  return `${template ?? action} ${namespace}/${name}`;
}

/** What waits for the approval of people, and what became of it. */
export function ApprovalsView({ parameters }: ViewProps): JSX.Element {
  const state = parameters.get('state') ?? 'pending';
  const cluster = parameters.get('cluster') ?? undefined;
  const cursor = parameters.get('cursor') ?? undefined;
  const list = useResource<PageOf<Approval>>(
    `/approvals${query({ state, cluster, cursor })}`,
    isOf('approvals', 'intents'),
  );
  return (
    <Page title="Approvals">
      <Tabs
        label="State of the approvals"
        tabs={APPROVAL_STATES.map((name) => ({
          label: name,
          href: href('/approvals', { state: name, cluster }),
          isCurrent: name === state,
        }))}
      />
      <FilterBar label="Filter the approvals" fields={[{ name: 'cluster', label: 'Cluster', placeholder: 'slug' }]}>
        <SavedFilters list="approvals" />
      </FilterBar>
      <Loaded of={list}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title={state === 'pending' ? 'Nothing waits for an approval' : `No approval is ${state}`}>
              An approval is needed where a catalog entry, an operation template or a namespace of a cluster says so.
            </Empty>
          ) : (
            <>
              <Table caption={`Approvals that are ${state}`} columns={COLUMNS} rows={items} rowKey={({ id }) => id} />
              <Pager next={nextCursor} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}
