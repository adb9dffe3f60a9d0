import type { JSX } from 'preact';
import { path, type Page as PageOf } from '../api/client.ts';
import type { ModeSwitch } from '../api/mode-switches.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Badge } from '../components/badge.tsx';
import { Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { When } from '../components/when.tsx';
import { href } from '../router.ts';

const COLUMNS: readonly Column<ModeSwitch>[] = [
  {
    head: 'Switch',
    cell: ({ id, from, to, clusterSlug }) => (
      <a href={href(path`/clusters/${clusterSlug}/mode/${id}`)}>
        {from} → {to}
      </a>
    ),
  },
  { head: 'State', cell: ({ state }) => <Badge state={state} /> },
  { head: 'Why', look: 'fill', cell: ({ reason }) => reason },
  { head: 'Asked for by', cell: ({ requestedBy }) => requestedBy },
  { head: 'Asked for', look: 'tight', cell: ({ requestedAt }) => <When at={requestedAt} /> },
];

/** The switches of a cluster so far; nothing where there was none. */
export function ModeSwitches({ cluster }: { readonly cluster: string }): JSX.Element {
  const list = useResource<PageOf<ModeSwitch>>(path`/clusters/${cluster}/mode-switches`, isOf('clusters'));
  return (
    <Loaded of={list} lines={2}>
      {({ items }) =>
        items.length > 0 && (
          <>
            <h2>Switches so far</h2>
            <Table caption="Switches so far" columns={COLUMNS} rows={items} rowKey={({ id }) => id} />
          </>
        )
      }
    </Loaded>
  );
}
