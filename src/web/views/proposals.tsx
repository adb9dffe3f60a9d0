import type { JSX } from 'preact';
import { path, query, type Page as ListPage } from '../api/client.ts';
import type { Proposal } from '../api/reviews.ts';
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

const STATES = ['open', 'merging', 'merged', 'rejected', 'superseded', 'failed'] as const;

const COLUMNS: readonly Column<Proposal>[] = [
  { head: 'What', look: 'fill', cell: ({ id, title }) => <a href={href(path`/proposals/${id}`)}>{title}</a> },
  { head: 'Cluster', cell: ({ clusterSlug }) => <ClusterLink slug={clusterSlug} /> },
  { head: 'Asked for by', cell: ({ author }) => author },
  { head: 'State', cell: ({ state }) => <Badge state={state} /> },
  { head: 'Approvals', cell: ({ approvals }) => `${approvals.given.length} of ${approvals.required.count}` },
  { head: 'Changed', cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

/** Proposals in one state, those that wait for a person first. */
export function ProposalsView({ parameters }: ViewProps): JSX.Element {
  const state = parameters.get('state') ?? 'open';
  const cluster = parameters.get('cluster') ?? undefined;
  const cursor = parameters.get('cursor') ?? undefined;
  const list = useResource<ListPage<Proposal>>(`/proposals${query({ state, cluster, cursor })}`, isOf('proposals'));
  return (
    <Page title={cluster === undefined ? 'Proposals' : `Proposals of ${cluster}`}>
      <Tabs
        label="State"
        tabs={STATES.map((name) => ({
          label: name,
          href: href('/proposals', { state: name, cluster }),
          isCurrent: name === state,
        }))}
      />
      <FilterBar label="Filter the proposals" fields={[{ name: 'cluster', label: 'Cluster', placeholder: 'slug' }]}>
        <SavedFilters list="proposals" />
      </FilterBar>
      <Loaded of={list}>
        {({ items, nextCursor }) => (
          <>
            {items.length === 0 ? (
              <Empty title={state === 'open' ? 'Nothing waits for a review.' : `No proposal is ${state}.`} />
            ) : (
              <Table caption={`Proposals that are ${state}`} columns={COLUMNS} rows={items} rowKey={({ id }) => id} />
            )}
            <Pager next={nextCursor} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
