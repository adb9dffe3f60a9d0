import type { JSX } from 'preact';
import type { Application } from '../api/applications.ts';
import { path } from '../api/client.ts';
import { href } from '../router.ts';
import { Badge } from './badge.tsx';
import { ClusterLink } from './links.tsx';
import { Table, type Column } from './table.tsx';
import { When } from './when.tsx';

const CLUSTER: Column<Application> = { head: 'Cluster', cell: ({ clusterSlug }) => <ClusterLink slug={clusterSlug} /> };

const COLUMNS: readonly Column<Application>[] = [
  {
    head: 'Application',
    look: 'fill',
    cell: ({ clusterSlug, namespace, name }) => (
      <a href={href(path`/clusters/${clusterSlug}/applications/${namespace}/${name}`)}>
        {namespace}/{name}
      </a>
    ),
  },
  { head: 'Health', cell: ({ health }) => <Badge state={health} /> },
  {
    head: 'Catalog entry',
    cell: ({ catalogEntry }) =>
      catalogEntry === undefined ? null : <a href={href(path`/catalog/${catalogEntry}`)}>{catalogEntry}</a>,
  },
  { head: 'Version', cell: (application) => <Version application={application} /> },
  {
    head: 'Newest intent',
    cell: ({ intentId, action, state }) => (
      <>
        <a href={href(path`/intents/${intentId}`)}>{action}</a> <Badge state={state} />
      </>
    ),
  },
  { head: 'Asked for', look: 'tight', cell: ({ requestedAt }) => <When at={requestedAt} /> },
];

interface ApplicationTableProps {
  readonly applications: readonly Application[];
  readonly hasClusters: boolean;
}

/** Applications; with the clusters that they are on where these are several. */
export function ApplicationTable({ applications, hasClusters }: ApplicationTableProps): JSX.Element {
  const [first, ...others] = COLUMNS;
  const columns = hasClusters && first !== undefined ? [first, CLUSTER, ...others] : COLUMNS;
  return (
    <Table
      caption="Applications"
      columns={columns}
      rows={applications}
      rowKey={({ clusterId, namespace, name }) => `${clusterId} ${namespace} ${name}`}
    />
  );
}

export function Version({ application }: { readonly application: Application }): JSX.Element {
  const { version, observedVersion, newestAllowed, isUpgradeAvailable } = application;
  const isOnItsWay = version !== undefined && observedVersion !== undefined && version !== observedVersion;
  return (
    <>
      {isOnItsWay ? `${observedVersion} → ${version}` : (observedVersion ?? version)}
      {isUpgradeAvailable === true ? (
        <>
          {' '}
          <Badge state="upgradable" label={`${newestAllowed ?? 'newer'} available`} />
        </>
      ) : null}
    </>
  );
}
