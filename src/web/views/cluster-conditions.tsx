import type { JSX } from 'preact';
import { path, query, type Page } from '../api/client.ts';
import type { ReportedResource } from '../api/clusters.ts';
import type { Condition } from '../api/conditions.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Badge } from '../components/badge.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { TextWithTimes } from '../components/text-with-times.tsx';
import { When } from '../components/when.tsx';
import type { ClusterTabProps } from './cluster.tsx';
import { toneOfCondition } from './explained-conditions.ts';

const COLUMNS: readonly Column<ReportedResource>[] = [
  {
    head: 'Resource',
    look: 'fill',
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
      <ul class="plain">
        {conditions.map((condition) => (
          <li key={condition.type}>
            <OneCondition condition={condition} />
          </li>
        ))}
      </ul>
    ),
  },
  { head: 'Last report', look: 'tight', cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

export function OneCondition({ condition }: { readonly condition: Condition }): JSX.Element {
  const { type, status, reason, message } = condition;
  const tone = toneOfCondition(condition);
  return (
    <>
      <Badge state={status} tone={tone} label={`${type}: ${status}`} />{' '}
      {reason === undefined ? null : <code>{reason}</code>}
      {tone === 'good' || message === undefined ? null : (
        <span class="condition-message">
          <TextWithTimes text={message} />
        </span>
      )}
    </>
  );
}

/** What the operator says of each resource, folded from its reports. */
export function ClusterConditions({ cluster, parameters }: ClusterTabProps): JSX.Element {
  const cursor = parameters.get('cursor') ?? undefined;
  const list = useResource<Page<ReportedResource>>(
    `${path`/clusters/${cluster.id}/conditions`}${query({ cursor })}`,
    isOf('events'),
  );
  return (
    <Loaded of={list}>
      {({ items, nextCursor }) => (
        <>
          {items.length > 0 ? (
            <Table caption="Resources with their conditions" columns={COLUMNS} rows={items} rowKey={keyOf} />
          ) : (
            <Empty title="The operator has reported nothing yet." />
          )}
          <Pager next={nextCursor} />
        </>
      )}
    </Loaded>
  );
}

const keyOf = ({ resourceRef: { kind, namespace = '', name } }: ReportedResource): string =>
  `${kind} ${namespace} ${name}`;
