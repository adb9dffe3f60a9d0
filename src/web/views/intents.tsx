import type { JSX } from 'preact';
import { path, query, type Page as PageOf } from '../api/client.ts';
import { INTENT_STATES, type Intent } from '../api/intents.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Badge } from '../components/badge.tsx';
import { FilterBar, type FilterField } from '../components/filter-bar.tsx';
import { ClusterLink } from '../components/links.tsx';
import { Pager } from '../components/pager.tsx';
import { SavedFilters } from '../components/saved-filters.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import { href } from '../router.ts';
import type { ViewProps } from '../routes.ts';

const FIELDS: readonly FilterField[] = [
  { name: 'cluster', label: 'Cluster', placeholder: 'slug' },
  { name: 'state', label: 'State', options: INTENT_STATES.map((state) => [state, state] as const) },
  {
    name: 'action',
    label: 'Action',
    options: (['install', 'update', 'uninstall', 'operate'] as const).map((action) => [action, action] as const),
  },
  { name: 'requestedBy', label: 'Asked for by', placeholder: 'name' },
  { name: 'namespace', label: 'Namespace' },
  { name: 'name', label: 'Object' },
];

const COLUMNS: readonly Column<Intent>[] = [
  {
    head: 'What',
    look: 'fill',
    cell: ({ id, action, namespace, name }) => (
      <a href={href(path`/intents/${id}`)}>
        {action} {namespace}/{name}
      </a>
    ),
  },
  {
    head: 'Cluster',
    cell: ({ clusterId, clusterSlug }) =>
      clusterSlug === undefined ? (
        <a href={href(path`/clusters/${clusterId}`)}>cluster</a>
      ) : (
        <ClusterLink slug={clusterSlug} />
      ),
  },
  { head: 'State', cell: ({ state }) => <Badge state={state} /> },
  { head: 'Why', cell: ({ reason }) => reason },
  { head: 'Asked for by', cell: ({ requestedBy }) => requestedBy },
  { head: 'Asked for', look: 'tight', cell: ({ acceptedAt }) => <When at={acceptedAt} /> },
];

/** Intents of all clusters, the newest first. */
export function IntentsView({ parameters }: ViewProps): JSX.Element {
  const filter = Object.fromEntries(
    [...FIELDS.map(({ name }) => name), 'cursor'].map((name) => [name, parameters.get(name) ?? undefined]),
  );
  const list = useResource<PageOf<Intent>>(`/intents${query(filter)}`, isOf('intents'));
  return (
    <Page title="Intents">
      <FilterBar label="Filter the intents" fields={FIELDS}>
        <SavedFilters list="intents" />
      </FilterBar>
      <Loaded of={list}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title="No intent fits">
              An intent is what somebody asks of a cluster: to install, update, uninstall or run something.
            </Empty>
          ) : (
            <>
              <Table caption="Intents" columns={COLUMNS} rows={items} rowKey={({ id }) => id} />
              <Pager next={nextCursor} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}
