import type { JSX } from 'preact';
import { APPLICATION_HEALTHS, type Application } from '../api/applications.ts';
import { query, type Page as ListPage } from '../api/client.ts';
import { INTENT_STATES } from '../api/intents.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { ApplicationTable } from '../components/application-table.tsx';
import { FilterBar, type FilterField } from '../components/filter-bar.tsx';
import { Pager } from '../components/pager.tsx';
import { SavedFilters } from '../components/saved-filters.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Page } from '../page.tsx';
import type { ViewProps } from '../routes.ts';

export const APPLICATION_FIELDS: readonly FilterField[] = [
  { name: 'q', label: 'Name begins with' },
  { name: 'namespace', label: 'Namespace' },
  { name: 'catalogEntry', label: 'Catalog entry' },
  { name: 'health', label: 'Health', options: APPLICATION_HEALTHS.map((one) => [one, one] as const) },
  {
    name: 'state',
    label: 'Newest intent',
    options: INTENT_STATES.map((one) => [one, one] as const),
  },
];
const FIELDS: readonly FilterField[] = [
  { name: 'cluster', label: 'Cluster', placeholder: 'slug' },
  ...APPLICATION_FIELDS,
];

/** Applications of all clusters. */
export function ApplicationsView({ parameters }: ViewProps): JSX.Element {
  const list = useResource<ListPage<Application>>(
    `/applications${query(Object.fromEntries(parameters))}`,
    isOf('intents', 'events', 'catalog'),
  );
  const isFiltered = FIELDS.some(({ name }) => parameters.has(name));
  return (
    <Page
      title="Applications"
      beside={
        <div class="buttons">
          <a class="button" href="#/catalog">
            Install from the catalog
          </a>
        </div>
      }
    >
      <FilterBar label="Applications" fields={FIELDS}>
        <SavedFilters list="applications" />
      </FilterBar>
      <Loaded of={list}>
        {({ items, nextCursor }) => (
          <>
            {items.length > 0 ? <ApplicationTable applications={items} hasClusters /> : null}
            {items.length > 0 ? null : (
              <Empty title={isFiltered ? 'No application fits.' : 'Nothing is installed yet.'} />
            )}
            <Pager next={nextCursor} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
