import type { JSX } from 'preact';
import { path, query, type Page as PageOf } from '../api/client.ts';
import type { Condition } from '../api/conditions.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { When } from '../components/when.tsx';
import { href } from '../router.ts';

interface ReportedEvent {
  readonly eventKey: string;
  readonly kind: string;
  readonly resourceRef: { readonly kind: string; readonly namespace?: string; readonly name: string };
  readonly conditions: readonly Condition[];
  readonly timestamp?: string;
  readonly receivedAt: string;
}

/** Of the cluster's latest; those of the object are picked out of them. */
const LOOKED_AT = 200;
const SHOWN = 20;

const COLUMNS: readonly Column<ReportedEvent>[] = [
  { head: 'When', look: 'tight', cell: ({ timestamp, receivedAt }) => <When at={timestamp ?? receivedAt} /> },
  { head: 'Of', look: 'tight', cell: ({ resourceRef }) => resourceRef.kind },
  {
    head: 'What',
    look: 'fill',
    cell: ({ conditions, kind }) =>
      conditions.length === 0 ? kind : conditions.map((one) => <p key={one.type}>{conditionText(one)}</p>),
  },
];

function conditionText({ type, status, reason, message }: Condition): string {
  const about = [reason, message].filter((text) => (text ?? '') !== '').join(': ');
  return `${type} ${status}${about === '' ? '' : `: ${about}`}`;
}

interface ObjectEventsProps {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
}

/** What the cluster told of an object and of its release. */
export function ObjectEvents({ cluster, namespace, name }: ObjectEventsProps): JSX.Element {
  const events = useResource<PageOf<ReportedEvent>>(
    `${path`/clusters/${cluster}/events`}${query({ limit: String(LOOKED_AT) })}`,
    isOf('events'),
  );
  return (
    <Loaded of={events}>
      {({ items, nextCursor }) => {
        const own = items.filter(({ resourceRef: ref }) => ref.name === name && ref.namespace === namespace);
        return (
          <>
            {own.length === 0 ? (
              <Empty title="No event" />
            ) : (
              <Table
                caption="Events"
                columns={COLUMNS}
                rows={own.slice(0, SHOWN)}
                rowKey={({ eventKey }) => eventKey}
              />
            )}
            {nextCursor !== undefined && (
              <p class="quiet">
                Of the latest {LOOKED_AT} events of the cluster.{' '}
                <a href={href(path`/clusters/${cluster}/events`)}>All of them</a>
              </p>
            )}
          </>
        );
      }}
    </Loaded>
  );
}
