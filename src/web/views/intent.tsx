import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { path } from '../api/client.ts';
import type { ClusterChoice } from '../api/cluster-choice.ts';
import { isUnderWay, type Intent } from '../api/intents.ts';
import { useOfCluster } from '../api/of-cluster.ts';
import { useResource } from '../api/use-resource.ts';
import { ActButton } from '../components/act-button.tsx';
import { Badge } from '../components/badge.tsx';
import { Copyable } from '../components/copyable.tsx';
import { Facts } from '../components/facts.tsx';
import { Loaded } from '../components/states.tsx';
import { Journey } from '../journey/journey.tsx';
import { standing } from '../journey/stations.ts';
import type { Timeline } from '../journey/timeline.ts';
import { Page } from '../page.tsx';
import { href } from '../router.ts';
import type { ViewProps } from '../routes.ts';
import { applicationHref } from './application-href.ts';
import { CancelIntent } from './cancel-intent.tsx';

const CONCERNS = ['intents', 'proposals', 'approvals', 'operations', 'events'] as const;

/** An intent and its journey from the request to Ready. */
export function IntentView({ parts: [id = ''] }: ViewProps): JSX.Element {
  const intent = useOfCluster<Intent>(path`/intents/${id}`, ...CONCERNS);
  const timeline = useResource<Timeline>(path`/intents/${id}/timeline`, intent.concerns);
  return (
    <Loaded of={intent}>
      {(data) => (
        <IntentPage intent={data} reload={intent.reload} says={standing(timeline.data?.items ?? [])}>
          <Loaded of={timeline}>
            {({ items }) => (
              <>
                <p class={data.state === 'failed' ? 'standing fault' : 'standing'} role="status">
                  {standing(items)}
                </p>
                <Journey items={items} toldAbove={data.state === 'failed' ? standing(items) : undefined} />
              </>
            )}
          </Loaded>
        </IntentPage>
      )}
    </Loaded>
  );
}

interface IntentPageProps {
  readonly intent: Intent;
  readonly reload: () => void;
  /** What stands below of where it is. */
  readonly says: string;
  readonly children: JSX.Element;
}

function IntentPage({ intent, reload, says, children }: IntentPageProps): JSX.Element {
  const [isAsked, ask] = useState(false);
  const { action, namespace, name, clusterSlug, clusterId, receipt } = intent;
  const known = useResource<ClusterChoice>(clusterSlug === undefined ? path`/clusters/${clusterId}` : undefined);
  const cluster = clusterSlug ?? known.data?.slug ?? clusterId;
  return (
    <Page
      title={`${action} ${namespace}/${name}`}
      above={<a href="#/intents">Intents</a>}
      beside={
        <>
          <Badge state={intent.state} />
          {isUnderWay(intent) && (
            <ActButton scope="deploy" look="danger" why={whyNotCancelled(intent)} onClick={() => ask(true)}>
              Cancel…
            </ActButton>
          )}
        </>
      }
    >
      {intent.requestReason !== undefined && <p class="note">{intent.requestReason}</p>}
      {intent.reason !== undefined && !says.includes(intent.reason) && (
        <p class={intent.state === 'failed' ? 'fault' : 'quiet'}>{intent.reason}</p>
      )}
      {children}
      <h2>Details</h2>
      <Facts
        entries={[
          ['Intent', <Copyable key="id" text={intent.id} what="id of the intent" />],
          [
            'Cluster',
            <a key="cluster" href={href(path`/clusters/${cluster}`)}>
              {cluster}
            </a>,
          ],
          ['Object', <ObjectLink key="object" intent={intent} cluster={cluster} />],
          ['Generation', String(intent.generation)],
          ['Asked for by', intent.requestedBy],
          ['Delivered by', receipt?.mode],
          ['Field manager', receipt?.fieldManager],
        ]}
      />
      {isAsked && <CancelIntent intent={intent} done={reload} onClose={() => ask(false)} />}
    </Page>
  );
}

/** Only operations can be cancelled, and what is proposed can be withdrawn. */
function whyNotCancelled(intent: Intent): string | undefined {
  if (intent.action === 'operate' || intent.proposal?.state === 'open') return undefined;
  return 'Only an operation can be cancelled, or what still waits as a proposal. Ask for the opposite instead.';
}

function ObjectLink({ intent, cluster }: { readonly intent: Intent; readonly cluster: string }): JSX.Element {
  const { action, namespace, name, id } = intent;
  const address = action === 'operate' ? href(path`/operations/${id}`) : applicationHref(cluster, namespace, name);
  return (
    <a href={address}>
      {namespace}/{name}
    </a>
  );
}
