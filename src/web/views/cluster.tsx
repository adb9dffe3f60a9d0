import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { path } from '../api/client.ts';
import type { Cluster } from '../api/clusters.ts';
import { isOf, useResource, type Resource } from '../api/use-resource.ts';
import { Badge } from '../components/badge.tsx';
import { Labels } from '../components/labels.tsx';
import { Loaded } from '../components/states.tsx';
import { Tabs } from '../components/tabs.tsx';
import { Page } from '../page.tsx';
import { href } from '../router.ts';
import type { ViewProps } from '../routes.ts';
import { ClusterApplications } from './cluster-applications.tsx';
import { ClusterConditions } from './cluster-conditions.tsx';
import { ClusterCredentials } from './cluster-credentials.tsx';
import { ClusterEvents } from './cluster-events.tsx';
import { ClusterInstall } from './cluster-install.tsx';
import { ClusterIntents } from './cluster-intents.tsx';
import { ClusterOperations } from './cluster-operations.tsx';
import { ClusterOverview } from './cluster-overview.tsx';

export interface ClusterTabProps {
  readonly cluster: Cluster;
  readonly reload: () => void;
  readonly parameters: URLSearchParams;
}

const TABS: readonly (readonly [part: string, label: string, tab: (props: ClusterTabProps) => JSX.Element])[] = [
  ['', 'Overview', ClusterOverview],
  ['applications', 'Applications', ClusterApplications],
  ['operations', 'Operations', ClusterOperations],
  ['intents', 'Intents', ClusterIntents],
  ['conditions', 'Conditions', ClusterConditions],
  ['events', 'Events', ClusterEvents],
  ['credentials', 'Credentials', ClusterCredentials],
  ['install', 'Install', ClusterInstall],
];

/** One cluster, with all that it has in tabs. */
export function ClusterView({ parts: [slug = '', part = ''], parameters }: ViewProps): JSX.Element {
  const known = useRef<string | undefined>(undefined);
  const cluster: Resource<Cluster> = useResource<Cluster>(
    path`/clusters/${slug}`,
    (change) => isOf('clusters', 'events', 'intents')(change) && isAbout(change.clusterId ?? change.id, known.current),
  );
  known.current = cluster.data?.id;
  const Tab = TABS.find(([name]) => name === part)?.[2] ?? ClusterOverview;
  return (
    <Page
      title={cluster.data?.displayName ?? slug}
      above={
        <>
          <a href="#/clusters">Clusters</a> / {slug}
        </>
      }
      beside={cluster.data === undefined ? null : <Standing cluster={cluster.data} />}
    >
      <Tabs
        label="Of this cluster"
        tabs={TABS.map(([name, label]) => ({
          label,
          href: href(name === '' ? path`/clusters/${slug}` : `${path`/clusters/${slug}`}/${name}`),
          isCurrent: name === part,
        }))}
      />
      <Loaded of={cluster} lines={6}>
        {(data) => <Tab cluster={data} reload={cluster.reload} parameters={parameters} />}
      </Loaded>
    </Page>
  );
}

/** A change without an id may be of any. */
function isAbout(id: string | undefined, known: string | undefined): boolean {
  return id === undefined || known === undefined || id === known;
}

function Standing({ cluster }: { readonly cluster: Cluster }): JSX.Element {
  const { health, disabledAt, status, labels = {}, connectivityMode } = cluster;
  return (
    <>
      <Badge state={disabledAt === undefined ? (health ?? status) : 'disabled'} />
      <span class="chip">{connectivityMode}</span>
      <Labels labels={labels} most={6} />
    </>
  );
}
