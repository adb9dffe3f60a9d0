import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Application } from '../api/applications.ts';
import { call, path } from '../api/client.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { ActButton } from '../components/act-button.tsx';
import { Version } from '../components/application-table.tsx';
import { Badge } from '../components/badge.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { Facts } from '../components/facts.tsx';
import { Loaded } from '../components/states.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import { go, href } from '../router.ts';
import type { ViewProps } from '../routes.ts';
import { ConditionCards } from './cluster-overview.tsx';

/** One application: what should be there, what is there, and what its operator says of it. */
export function ApplicationView({ parts: [slug = '', namespace = '', name = ''] }: ViewProps): JSX.Element {
  const application = useResource<Application>(
    path`/clusters/${slug}/applications/${namespace}/${name}`,
    isOf('intents', 'events', 'catalog'),
  );
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
        application.data === undefined ? null : (
          <>
            <Badge state={application.data.health} />
            <Acts application={application.data} />
          </>
        )
      }
    >
      <Loaded of={application}>
        {(data) => (
          <>
            <Facts entries={factsOf(data)} />
            <h2>Conditions</h2>
            {data.conditions === undefined || data.conditions.length === 0 ? (
              <p class="quiet">The operator has reported nothing of it yet.</p>
            ) : (
              <ConditionCards conditions={data.conditions} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function factsOf(data: Application): readonly (readonly [string, JSX.Element | string | undefined])[] {
  const { catalogEntry, intentId, action, state, reason } = data;
  return [
    ['Catalog entry', catalogEntry && <a href={href(path`/catalog/${catalogEntry}`)}>{catalogEntry}</a>],
    ['Version', <Version application={data} />],
    [
      'Newest intent',
      <>
        <a href={href(path`/intents/${intentId}`)}>{action}</a> <Badge state={state} />
      </>,
    ],
    ['Why it stands there', reason],
    ['Generation', String(data.generation)],
    ['Asked for by', data.requestedBy],
    ['Asked for', <When at={data.requestedAt} />],
  ];
}

function Acts({ application }: { readonly application: Application }): JSX.Element {
  const [isAsking, setAsking] = useState(false);
  const { clusterSlug, namespace, name, catalogEntry } = application;
  return (
    <div class="buttons">
      {catalogEntry === undefined ? null : (
        <a class="button" href={href(path`/clusters/${clusterSlug}/applications/${namespace}/${name}/change`)}>
          {application.isUpgradeAvailable === true ? 'Upgrade' : 'Change'}
        </a>
      )}
      <ActButton
        scope="deploy"
        look="danger"
        why={application.action === 'uninstall' ? 'It is being uninstalled already.' : undefined}
        onClick={() => setAsking(true)}
      >
        Uninstall
      </ActButton>
      {isAsking ? (
        <ConfirmDialog
          title={`Uninstall ${namespace}/${name} from ${clusterSlug}?`}
          action="Uninstall"
          isDangerous
          typed={name}
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            const { id } = await call<{ readonly id: string }>('POST', path`/clusters/${clusterSlug}/intents`, {
              body: { action: 'uninstall', namespace, name },
              idempotencyKey: crypto.randomUUID(),
            });
            go(path`/intents/${id}`);
          }}
        >
          <p>
            The operator removes the release with everything that its chart made. Data in volumes goes with them where
            the chart does not keep it. Where the cluster asks for a review or an approval, nothing happens before that.
          </p>
        </ConfirmDialog>
      ) : null}
    </div>
  );
}
