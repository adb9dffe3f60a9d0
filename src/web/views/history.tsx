import type { JSX } from 'preact';
import { path, query, type Page as ListPage } from '../api/client.ts';
import type { Commit } from '../api/history.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Badge } from '../components/badge.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { CommitLink } from '../components/links.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import type { ViewProps } from '../routes.ts';

function columnsOf(repository: string): readonly Column<Commit>[] {
  return [
    { head: 'Commit', cell: ({ id }) => <CommitLink repository={repository} commit={id} /> },
    { head: 'What', look: 'fill', cell: ({ subject }) => subject },
    { head: 'Who', cell: ({ trailers, author }) => trailers?.['Requested-By'] ?? author.name },
    { head: 'Intent', cell: ({ intent }) => (intent === undefined ? 'not an intent' : <Badge state={intent.state} />) },
    { head: 'When', cell: ({ at }) => <When at={at} /> },
  ];
}

/** Commits of a repository, newest first. */
export function HistoryView({ parts: [name = ''], parameters }: ViewProps): JSX.Element {
  const cluster = parameters.get('cluster') ?? undefined;
  const cursor = parameters.get('cursor') ?? undefined;
  const list = useResource<ListPage<Commit>>(
    `${path`/repositories/${name}/commits`}${query({ cluster, cursor })}`,
    isOf('intents'),
  );
  return (
    <Page title={cluster === undefined ? `History of ${name}` : `History of ${cluster} in ${name}`}>
      <FilterBar label="Commits" fields={[{ name: 'cluster', label: 'Only of cluster (slug)' }]} />
      <Loaded of={list}>
        {({ items, nextCursor }) => (
          <>
            {items.length === 0 ? (
              <Empty title="No commit fits." />
            ) : (
              <Table caption="Commits" columns={columnsOf(name)} rows={items} rowKey={({ id }) => id} />
            )}
            <Pager next={nextCursor} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
