import type { JSX } from 'preact';
import { path, query, type Page } from '../api/client.ts';
import type { Operation } from '../api/operations.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Badge } from '../components/badge.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { When } from '../components/when.tsx';
import { href } from '../router.ts';
import type { ClusterTabProps } from './cluster.tsx';

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
  { head: 'Phase', cell: ({ phase }) => <Badge state={phase} /> },
  { head: 'Asked for by', cell: ({ requestedBy }) => requestedBy },
  { head: 'Asked for', look: 'tight', cell: ({ requestedAt }) => <When at={requestedAt} /> },
  { head: 'Ended', look: 'tight', cell: ({ finishedAt }) => <When at={finishedAt} /> },
];

/** What was run on a cluster, the newest first. */
export function ClusterOperations({ cluster, parameters }: ClusterTabProps): JSX.Element {
  const cursor = parameters.get('cursor') ?? undefined;
  const list = useResource<Page<Operation>>(
    `${path`/clusters/${cluster.id}/operations`}${query({ cursor })}`,
    isOf('operations', 'intents', 'events'),
  );
  return (
    <Loaded of={list}>
      {({ items, nextCursor }) => (
        <>
          {items.length > 0 ? (
            <Table caption="Operations" columns={COLUMNS} rows={items} rowKey={({ id }) => id} />
          ) : (
            <Empty title="No operation was asked for yet.">
              <a href={href('/templates', { cluster: cluster.slug })}>See what can be run</a>
            </Empty>
          )}
          <Pager next={nextCursor} />
        </>
      )}
    </Loaded>
  );
}
