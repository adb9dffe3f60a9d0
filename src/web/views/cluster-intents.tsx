import type { JSX } from 'preact';
import { path, query, type Page } from '../api/client.ts';
import type { Intent } from '../api/intents.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Badge } from '../components/badge.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { When } from '../components/when.tsx';
import { href } from '../router.ts';
import type { ClusterTabProps } from './cluster.tsx';

const COLUMNS: readonly Column<Intent>[] = [
  {
    head: 'Intent',
    look: 'fill',
    cell: ({ id, action, namespace, name }) => (
      <a href={href(path`/intents/${id}`)}>
        {action} {namespace}/{name}
      </a>
    ),
  },
  { head: 'State', cell: ({ state }) => <Badge state={state} /> },
  { head: 'Where it stands', look: 'fill', cell: (intent) => standing(intent) },
  { head: 'Generation', look: 'number', cell: ({ generation }) => generation },
  { head: 'Asked for by', cell: ({ requestedBy }) => requestedBy },
  { head: 'Asked for', look: 'tight', cell: ({ acceptedAt }) => <When at={acceptedAt} /> },
];

/** In a few words, with a link to whatever it waits for. */
function standing({
  state,
  reason,
  proposal,
  approval,
  deliveredAt,
  appliedAt,
  readyAt,
}: Intent): JSX.Element | string {
  if (approval?.state === 'pending') return <a href={href(path`/approvals/${approval.id}`)}>waits for an approval</a>;
  if (state === 'proposed' && proposal !== undefined) {
    return <a href={href(path`/proposals/${proposal.id}`)}>waits for a review</a>;
  }
  if (reason !== undefined) return reason;
  if (readyAt !== undefined)
    return (
      <>
        ready <When at={readyAt} />
      </>
    );
  if (appliedAt !== undefined)
    return (
      <>
        applied <When at={appliedAt} />, not ready yet
      </>
    );
  if (deliveredAt !== undefined)
    return (
      <>
        delivered <When at={deliveredAt} />, waits for the operator
      </>
    );
  return 'waits to be delivered';
}

/** What was asked for on a cluster, the newest first, and where each one stands. */
export function ClusterIntents({ cluster, parameters }: ClusterTabProps): JSX.Element {
  const cursor = parameters.get('cursor') ?? undefined;
  const list = useResource<Page<Intent>>(
    `${path`/clusters/${cluster.id}/intents`}${query({ cursor })}`,
    isOf('intents', 'proposals', 'approvals'),
  );
  return (
    <Loaded of={list}>
      {({ items, nextCursor }) => (
        <>
          {items.length > 0 ? (
            <Table caption="Intents" columns={COLUMNS} rows={items} rowKey={({ id }) => id} />
          ) : (
            <Empty title="Nothing was asked for yet.">
              <a href={href('/catalog', { cluster: cluster.slug })}>Install something from the catalog</a>
            </Empty>
          )}
          <Pager next={nextCursor} />
        </>
      )}
    </Loaded>
  );
}
