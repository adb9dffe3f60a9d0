import type { JSX } from 'preact';
import type { Application } from '../api/applications.ts';
import { path, query, type Page } from '../api/client.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { ApplicationTable } from '../components/application-table.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { APPLICATION_FIELDS } from './applications.tsx';
import type { ClusterTabProps } from './cluster.tsx';

/** What is installed on a cluster, or is to be. */
export function ClusterApplications({ cluster, parameters }: ClusterTabProps): JSX.Element {
  const filter = Object.fromEntries(parameters);
  const list = useResource<Page<Application>>(
    `${path`/clusters/${cluster.id}/applications`}${query(filter)}`,
    isOf('intents', 'events', 'catalog'),
  );
  const isFiltered = APPLICATION_FIELDS.some(({ name }) => parameters.has(name));
  return (
    <>
      <FilterBar label="Applications" fields={APPLICATION_FIELDS} />
      <Loaded of={list}>
        {({ items, nextCursor }) => (
          <>
            {items.length > 0 ? <ApplicationTable applications={items} hasClusters={false} /> : null}
            {items.length > 0 ? null : (
              <Empty title={isFiltered ? 'No application fits.' : 'Nothing is installed yet.'}>
                <a href="#/catalog">Choose something from the catalog</a>
              </Empty>
            )}
            <Pager next={nextCursor} />
          </>
        )}
      </Loaded>
    </>
  );
}
