import type { JSX } from 'preact';
import { useLayoutEffect, useId, useState } from 'preact/hooks';
import { CLUSTER_HEALTHS, type ClusterSummary } from '../api/clusters.ts';
import { query, type Page } from '../api/client.ts';
import type { Fleet, FleetGroup } from '../api/fleet.ts';
import { useResource } from '../api/use-resource.ts';
import { StateShape, toneOf } from '../components/badge.tsx';
import { Table, type Column } from '../components/table.tsx';
import { href, setParameters } from '../router.ts';

interface GroupsProps {
  readonly fleet: Fleet;
  readonly groupBy: string | undefined;
}

/** The fleet by one of its labels. */
export function FleetGroups({ fleet: { groups, groupsLeftOut = 0 }, groupBy }: GroupsProps): JSX.Element {
  const [name, setName] = useState(groupBy ?? '');
  const id = useId();
  // Those of the first clusters: more than enough to choose from, and another can be typed.
  const some = useResource<Page<ClusterSummary>>(`/clusters${query({ fields: 'summary', limit: '200' })}`);
  const known = [...new Set(some.data?.items.flatMap(({ labels }) => Object.keys(labels)))].toSorted();
  useLayoutEffect(() => setName(groupBy ?? ''), [groupBy]);
  return (
    <section>
      <h2>By label</h2>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          setParameters({ groupBy: name.trim() });
        }}
      >
        <div class="filter">
          <label for={id}>Label</label>
          <input
            id={id}
            value={name}
            list={`${id}-known`}
            placeholder="env"
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <datalist id={`${id}-known`}>
            {known.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </div>
        <button type="submit">Group</button>
      </form>
      {groupBy === undefined || groups === undefined ? null : (
        <>
          <Table
            caption={`Clusters by ${groupBy}`}
            columns={columnsOf(groupBy)}
            rows={groups}
            rowKey={({ value }) => value ?? ' none'}
          />
          {groupsLeftOut === 0 ? null : <p class="quiet">{groupsLeftOut} smaller groups are not shown.</p>}
        </>
      )}
    </section>
  );
}

function columnsOf(groupBy: string): readonly Column<FleetGroup>[] {
  const label = (value: string | undefined): string => (value === undefined ? `!${groupBy}` : `${groupBy}=${value}`);
  return [
    {
      head: groupBy,
      look: 'fill',
      cell: ({ value }) => (
        <a href={href('/clusters', { label: label(value) })}>
          {value === undefined ? 'without it' : value === '' ? '(empty)' : value}
        </a>
      ),
    },
    { head: 'Clusters', look: 'number', cell: ({ clusters }) => clusters.toLocaleString('en') },
    ...CLUSTER_HEALTHS.map((health): Column<FleetGroup> => ({
      head: health,
      look: 'number',
      cell: ({ value, byHealth }) =>
        byHealth[health] === 0 ? (
          <span class="quiet">0</span>
        ) : (
          <a class={`tone-${toneOf(health)}`} href={href('/clusters', { label: label(value), health })}>
            <StateShape tone={toneOf(health)} /> {byHealth[health].toLocaleString('en')}
          </a>
        ),
    })),
  ];
}
