import type { JSX } from 'preact';
import { path, query, type Page as PageOf } from '../api/client.ts';
import { INTENT_STATES } from '../api/intents.ts';
import type { Operation } from '../api/operations.ts';
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
  { name: 'template', label: 'Template', placeholder: 'such as velero-backup' },
  { name: 'state', label: 'Its intent is', options: INTENT_STATES.map((state) => [state, state] as const) },
  { name: 'requestedBy', label: 'Asked for by', placeholder: 'name' },
];

const COLUMNS: readonly Column<Operation>[] = [
  {
    head: 'Operation',
    look: 'fill',
    cell: ({ id, namespace, name }) => (
      <a href={href(path`/operations/${id}`)}>
        {namespace}/{name}
      </a>
    ),
  },
  { head: 'Template', cell: ({ template }) => template },
  { head: 'Cluster', cell: ({ clusterSlug }) => <ClusterLink slug={clusterSlug} /> },
  { head: 'Phase', cell: ({ phase }) => <Badge state={phase} /> },
  { head: 'Asked for by', cell: ({ requestedBy }) => requestedBy },
  { head: 'Asked for', look: 'tight', cell: ({ requestedAt }) => <When at={requestedAt} /> },
];

/** Operations of all clusters, the newest first. */
export function OperationsView({ parameters }: ViewProps): JSX.Element {
  const filter = Object.fromEntries(
    [...FIELDS.map(({ name }) => name), 'cursor'].map((name) => [name, parameters.get(name) ?? undefined]),
  );
  const list = useResource<PageOf<Operation>>(
    `/operations${query(filter)}`,
    isOf('operations', 'intents', 'events', 'approvals'),
  );
  return (
    <Page
      title="Operations"
      beside={
        <a class="button main" href="#/templates">
          Run an operation
        </a>
      }
    >
      <FilterBar label="Filter the operations" fields={FIELDS}>
        <SavedFilters list="operations" />
      </FilterBar>
      <Loaded of={list}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title="No operation fits">Backups, restores, restarts and rollbacks are run from a template.</Empty>
          ) : (
            <>
              <Table caption="Operations" columns={COLUMNS} rows={items} rowKey={({ id }) => id} />
              <Pager next={nextCursor} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}
