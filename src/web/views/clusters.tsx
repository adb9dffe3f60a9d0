import type { JSX } from 'preact';
import { query } from '../api/client.ts';
import { CLUSTER_HEALTHS, MODES, type ClusterSummary } from '../api/clusters.ts';
import type { Fleet } from '../api/fleet.ts';
import { useKeyedList } from '../api/use-keyed-list.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { ApplicationCounts } from '../components/application-counts.tsx';
import { Badge } from '../components/badge.tsx';
import { FilterBar, type FilterField } from '../components/filter-bar.tsx';
import { Labels } from '../components/labels.tsx';
import { ClusterLink } from '../components/links.tsx';
import { SavedFilters } from '../components/saved-filters.tsx';
import { Empty, Failure, Skeleton } from '../components/states.tsx';
import { VirtualList, type VirtualColumn } from '../components/virtual-list.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import type { ViewProps } from '../routes.ts';
import { NewClusterButton } from './new-cluster.tsx';

const same = (value: string): readonly [string, string] => [value, value];

const FIELDS: readonly FilterField[] = [
  { name: 'q', label: 'Name begins with' },
  { name: 'label', label: 'Labels', placeholder: 'env=prod,team!=web' },
  { name: 'health', label: 'Health', options: CLUSTER_HEALTHS.map(same) },
  { name: 'mode', label: 'Mode', options: MODES.map(same) },
  { name: 'status', label: 'Status', options: ['Active', 'Pending', 'Disabled'].map(same) },
];

const COLUMNS: readonly VirtualColumn<ClusterSummary>[] = [
  {
    head: 'Cluster',
    area: 'name',
    cell: ({ slug, displayName }) => (
      <>
        <ClusterLink slug={slug} />
        {displayName === slug ? null : <span class="quiet second">{displayName}</span>}
      </>
    ),
  },
  {
    head: 'Health',
    area: 'health',
    cell: ({ health, disabledAt }) => <Badge state={disabledAt === undefined ? health : 'disabled'} />,
  },
  { head: 'Mode', area: 'mode', cell: ({ mode }) => mode },
  {
    head: 'Applications',
    area: 'applications',
    cell: ({ applications }) => <ApplicationCounts counts={applications} />,
  },
  {
    head: 'Waiting for',
    area: 'waiting',
    cell: ({ waitingFor }) =>
      waitingFor === undefined ? (
        <span class="quiet none">nothing</span>
      ) : (
        <span title={`${waitingFor.count} waiting; the oldest ${waitingFor.text}`}>
          {waitingFor.count > 1 ? `${waitingFor.count}: ` : ''}
          {waitingFor.text}
        </span>
      ),
  },
  {
    head: 'Last contact',
    area: 'contact',
    cell: ({ lastContactAt }) =>
      lastContactAt === undefined ? <span class="quiet">never</span> : <When at={lastContactAt} isFocusable={false} />,
  },
  { head: 'Labels', area: 'labels', cell: ({ labels }) => <Labels labels={labels} most={3} /> },
];

/** All clusters, ten thousand of them too. */
export function ClustersView({ parameters }: ViewProps): JSX.Element {
  const filters = Object.fromEntries(FIELDS.map(({ name }) => [name, parameters.get(name) ?? undefined]));
  const isFiltered = FIELDS.some(({ name }) => parameters.has(name));
  const list = useKeyedList<ClusterSummary>(
    `/clusters${query({ fields: 'summary', ...filters })}`,
    isOf('clusters', 'intents', 'events'),
  );
  const fleet = useResource<Fleet>('/fleet', isOf('clusters'));
  const { rows, isComplete, error } = list;
  const total = isComplete ? rows.length : isFiltered ? undefined : fleet.data?.clusters.total;
  return (
    <Page title="Clusters" beside={<NewClusterButton />}>
      <FilterBar label="Clusters" fields={FIELDS} found={foundText(rows.length, isComplete, total)}>
        <SavedFilters list="clusters" />
      </FilterBar>
      {error !== undefined && rows.length === 0 ? <Failure error={error} retry={list.reload} /> : null}
      {rows.length > 0 ? (
        <VirtualList
          label="Clusters"
          look="clusters"
          columns={COLUMNS}
          rows={rows}
          rowKey={({ id }) => id}
          total={total}
          onSeen={list.see}
        />
      ) : null}
      {rows.length === 0 && error === undefined ? <Nothing isComplete={isComplete} isFiltered={isFiltered} /> : null}
    </Page>
  );
}

function Nothing({
  isComplete,
  isFiltered,
}: {
  readonly isComplete: boolean;
  readonly isFiltered: boolean;
}): JSX.Element {
  if (!isComplete) return <Skeleton lines={8} />;
  if (isFiltered) return <Empty title="No cluster fits.">Clear a filter, or look at how it is written.</Empty>;
  return <Empty title="There is no cluster yet.">Make one here, then run its install command where it lives.</Empty>;
}

function foundText(count: number, isComplete: boolean, total: number | undefined): string | undefined {
  if (count === 0) return undefined;
  const words = (number: number): string => `${number.toLocaleString('en')} ${number === 1 ? 'cluster' : 'clusters'}`;
  if (isComplete) return words(count);
  return total === undefined ? `More than ${words(count)}` : words(total);
}
