import type { JSX } from 'preact';
import { path, query, type Page } from '../api/client.ts';
import type { ReportedEvent } from '../api/clusters.ts';
import type { Condition } from '../api/conditions.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { When } from '../components/when.tsx';
import { OneCondition } from './cluster-conditions.tsx';
import type { ClusterTabProps } from './cluster.tsx';
import { toneOfCondition } from './explained-conditions.ts';

const COLUMNS: readonly Column<ReportedEvent>[] = [
  { head: 'Received', look: 'tight', cell: ({ receivedAt }) => <When at={receivedAt} /> },
  { head: 'Event', cell: ({ kind }) => kind },
  {
    head: 'About',
    cell: ({ resourceRef: { kind, namespace, name } }) => (
      <>
        <span class="quiet">{kind}</span> {namespace === undefined ? name : `${namespace}/${name}`}
      </>
    ),
  },
  {
    head: 'Conditions',
    look: 'fill',
    cell: ({ conditions }) => (
      <>
        <Conditions conditions={conditions.filter((one) => toneOfCondition(one) !== 'good')} />
        <GoodConditions conditions={conditions.filter((one) => toneOfCondition(one) === 'good')} />
      </>
    ),
  },
];

/** More of them that are as they should be are folded: a heartbeat has all of them. */
const MOST_SHOWN = 2;

function GoodConditions({ conditions }: { readonly conditions: readonly Condition[] }): JSX.Element {
  if (conditions.length <= MOST_SHOWN) return <Conditions conditions={conditions} />;
  return (
    <details>
      <summary class="quiet">{conditions.length} conditions as they should be</summary>
      <Conditions conditions={conditions} />
    </details>
  );
}

function Conditions({ conditions }: { readonly conditions: readonly Condition[] }): JSX.Element {
  return (
    <ul class="plain">
      {conditions.map((condition) => (
        <li key={condition.type}>
          <OneCondition condition={condition} />
        </li>
      ))}
    </ul>
  );
}

/** Reports of the operator as they come, the newest first. */
export function ClusterEvents({ cluster, parameters }: ClusterTabProps): JSX.Element {
  const cursor = parameters.get('cursor') ?? undefined;
  const list = useResource<Page<ReportedEvent>>(
    `${path`/clusters/${cluster.id}/events`}${query({ cursor })}`,
    (change) => isOf('events')(change) && (change.clusterId ?? cluster.id) === cluster.id,
  );
  return (
    <Loaded of={list}>
      {({ items, nextCursor }) => (
        <>
          {items.length > 0 ? (
            <Table caption="Events" columns={COLUMNS} rows={items} rowKey={({ eventKey }) => eventKey} />
          ) : (
            <Empty title="No event has come yet.">
              They are shown here as they come, without loading the page again.
            </Empty>
          )}
          <Pager next={nextCursor} />
        </>
      )}
    </Loaded>
  );
}
