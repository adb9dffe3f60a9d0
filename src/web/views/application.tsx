import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Application } from '../api/applications.ts';
import { path, query, type Page as PageOf } from '../api/client.ts';
import type { Intent } from '../api/intents.ts';
import { useOfCluster } from '../api/of-cluster.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { ActButton } from '../components/act-button.tsx';
import { Version } from '../components/application-table.tsx';
import { Badge } from '../components/badge.tsx';
import { Facts } from '../components/facts.tsx';
import { Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import { go, href } from '../router.ts';
import type { ViewProps } from '../routes.ts';
import { ConditionTable } from './condition-table.tsx';
import { ObjectEvents } from './object-events.tsx';
import { UninstallApplication } from './uninstall-application.tsx';

/** Intents of it that are shown; all of them are in the list of intents. */
const SHOWN_INTENTS = '10';

const INTENTS: readonly Column<Intent>[] = [
  { head: 'Intent', cell: ({ id, action }) => <a href={href(path`/intents/${id}`)}>{action}</a> },
  { head: 'State', cell: ({ state }) => <Badge state={state} /> },
  { head: 'Why', look: 'fill', cell: ({ reason }) => reason },
  { head: 'Asked for by', cell: ({ requestedBy }) => requestedBy },
  { head: 'Asked for', look: 'tight', cell: ({ acceptedAt }) => <When at={acceptedAt} /> },
];

/** One application: what should be there, what is there, what its operator says of it, and what can be done. */
export function ApplicationView({ parts: [slug = '', namespace = '', name = ''] }: ViewProps): JSX.Element {
  const application = useOfCluster<Application>(
    path`/clusters/${slug}/applications/${namespace}/${name}`,
    'intents',
    'events',
    'catalog',
  );
  const { data } = application;
  return (
    <Page
      title={`${namespace}/${name}`}
      above={
        <>
          <a href="#/clusters">Clusters</a> / <a href={href(path`/clusters/${slug}`)}>{slug}</a> /{' '}
          <a href={href(path`/clusters/${slug}/applications`)}>Applications</a>
        </>
      }
      beside={
        data === undefined ? null : (
          <>
            <Badge state={data.health} />
            <Acts application={data} />
          </>
        )
      }
    >
      <Loaded of={application}>
        {(one) => (
          <>
            {one.reason !== undefined && <p class={one.state === 'failed' ? 'fault' : 'quiet'}>{one.reason}</p>}
            <Facts entries={factsOf(one)} />
            <h2>Conditions</h2>
            <ConditionTable conditions={one.conditions ?? []} ifNone="The operator has reported nothing of it yet" />
            <h2>Events</h2>
            <ObjectEvents cluster={slug} namespace={namespace} name={name} />
            <AskedFor application={one} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function factsOf(data: Application): readonly (readonly [string, JSX.Element | string | undefined])[] {
  const { catalogEntry, intentId, action, state } = data;
  return [
    ['Catalog entry', catalogEntry && <a href={href(path`/catalog/${catalogEntry}`)}>{catalogEntry}</a>],
    ['Version', <Version key="version" application={data} />],
    [
      'Newest intent',
      <span key="intent">
        <a href={href(path`/intents/${intentId}`)}>{action}</a> <Badge state={state} />
      </span>,
    ],
    ['Generation', String(data.generation)],
    ['Asked for by', data.requestedBy],
    ['Asked for', <When key="at" at={data.requestedAt} />],
  ];
}

function AskedFor({ application }: { readonly application: Application }): JSX.Element {
  const { clusterSlug: cluster, namespace, name } = application;
  const filter = { cluster, namespace, name };
  const intents = useResource<PageOf<Intent>>(`/intents${query({ ...filter, limit: SHOWN_INTENTS })}`, isOf('intents'));
  return (
    <>
      <h2>What was asked for</h2>
      <Loaded of={intents}>
        {({ items, nextCursor }) => (
          <>
            <Table caption="Intents" columns={INTENTS} rows={items} rowKey={({ id }) => id} />
            {nextCursor !== undefined && <a href={href('/intents', filter)}>All of them</a>}
          </>
        )}
      </Loaded>
    </>
  );
}

function Acts({ application }: { readonly application: Application }): JSX.Element {
  const [isAsking, setAsking] = useState(false);
  const { clusterSlug: cluster, namespace, name, catalogEntry, action } = application;
  const why = action === 'uninstall' ? 'It is being uninstalled.' : undefined;
  return (
    <div class="buttons">
      <ActButton
        scope="deploy"
        look="main"
        why={catalogEntry === undefined ? 'It is of no catalog entry.' : why}
        onClick={() => go(path`/clusters/${cluster}/applications/${namespace}/${name}/change`)}
      >
        {application.isUpgradeAvailable === true ? 'Upgrade' : 'Upgrade or change'}
      </ActButton>
      <ActButton
        scope="deploy"
        why={why}
        onClick={() => go(path`/templates/release-rollback/run`, { cluster, namespace, application: name })}
      >
        Roll back
      </ActButton>
      <ActButton scope="deploy" look="danger" why={why} onClick={() => setAsking(true)}>
        Uninstall
      </ActButton>
      {isAsking && <UninstallApplication application={application} onClose={() => setAsking(false)} />}
    </div>
  );
}
