import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { messageOf } from '../api/api-error.ts';
import type { CatalogEntry, ChartVersions, InstanceUpgrade } from '../api/catalog.ts';
import { call, path, query, type Page as PageOf } from '../api/client.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { ActButton } from '../components/act-button.tsx';
import { Badge } from '../components/badge.tsx';
import { Facts } from '../components/facts.tsx';
import { ClusterLink } from '../components/links.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { toast } from '../components/toast.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import { go, href } from '../router.ts';
import type { ViewProps } from '../routes.ts';
import { applicationHref } from './application-href.ts';

/** Of a long list the newest are what is looked for. */
const SHOWN_VERSIONS = 25;

/** An entry of the catalog: its versions, and where it runs. */
export function CatalogEntryView({ parts: [name = ''], parameters }: ViewProps): JSX.Element {
  const entry = useResource<CatalogEntry>(path`/catalog/${name}`, isOf('catalog'));
  return (
    <Loaded of={entry}>{(data) => <EntryPage entry={data} cursor={parameters.get('cursor') ?? undefined} />}</Loaded>
  );
}

function EntryPage({
  entry,
  cursor,
}: {
  readonly entry: CatalogEntry;
  readonly cursor: string | undefined;
}): JSX.Element {
  const { name, chart, approval, deprecation, valuesSchema } = entry;
  const upgrades = useResource<PageOf<InstanceUpgrade>>(
    `${path`/catalog/${name}/upgrades`}${query({ cursor })}`,
    isOf('catalog', 'intents'),
  );
  return (
    <Page
      title={name}
      above={<a href="#/catalog">Catalog</a>}
      beside={
        <ActButton scope="deploy" look="main" onClick={() => go(path`/catalog/${name}/install`)}>
          Install
        </ActButton>
      }
    >
      {deprecation !== undefined && (
        <p class="note">
          <Badge state="outdated" label="deprecated" /> {deprecation.message}
          {deprecation.replacement !== undefined && (
            <>
              {' '}
              Use <a href={href(path`/catalog/${deprecation.replacement}`)}>{deprecation.replacement}</a> instead.
            </>
          )}
        </p>
      )}
      <Facts
        entries={[
          ['Chart', <code key="chart">{chart.url}</code>],
          ['Name of the chart', chart.name],
          ['Allowed versions', <code key="versions">{entry.versions}</code>],
          ['Approval', approval === undefined ? 'not needed' : `by ${approval.count}`],
          [
            'Values',
            valuesSchema === undefined ? 'without a schema: written as YAML' : 'by a schema: a form is made of it',
          ],
        ]}
      />
      <Versions name={name} />
      <h2>Where it runs</h2>
      <Loaded of={upgrades}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title="It runs nowhere yet" />
          ) : (
            <>
              <Table
                caption="Where it runs"
                columns={INSTANCES}
                rows={items}
                rowKey={(one) => `${one.cluster.id}/${one.namespace}/${one.name}`}
              />
              <Pager next={nextCursor} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

const INSTANCES: readonly Column<InstanceUpgrade>[] = [
  {
    head: 'Application',
    look: 'fill',
    cell: ({ cluster, namespace, name }) => (
      <a href={applicationHref(cluster.slug, namespace, name)}>
        {namespace}/{name}
      </a>
    ),
  },
  { head: 'Cluster', cell: ({ cluster }) => <ClusterLink slug={cluster.slug} /> },
  { head: 'Version', cell: ({ version }) => version },
  {
    head: 'Newest allowed',
    cell: ({ newestAllowed, isUpgradeAvailable, cluster, namespace, name }) =>
      isUpgradeAvailable ? (
        <a href={`${applicationHref(cluster.slug, namespace, name, 'change')}?version=${newestAllowed ?? ''}`}>
          Upgrade to {newestAllowed}
        </a>
      ) : (
        newestAllowed
      ),
  },
];

function Versions({ name }: { readonly name: string }): JSX.Element {
  const versions = useResource<ChartVersions>(path`/catalog/${name}/versions`, isOf('catalog'));
  const [isBusy, setBusy] = useState(false);
  const refresh = async (): Promise<void> => {
    setBusy(true);
    try {
      await call('GET', `${path`/catalog/${name}/versions`}?refresh=true`);
    } catch (error) {
      toast(messageOf(error), 'fault');
    }
    setBusy(false);
    versions.reload();
  };
  return (
    <>
      <h2>Versions</h2>
      <Loaded of={versions} lines={2}>
        {({ versions: found, fetchedAt, fault }) => (
          <>
            {fault !== undefined && <p class="fault">The registry did not give the list: {fault}</p>}
            {found.length === 0 ? (
              <p class="quiet">None is known yet.</p>
            ) : (
              <ul class="versions">
                {found.slice(0, SHOWN_VERSIONS).map(({ version, isAllowed }) => (
                  <li key={version}>
                    <code>{version}</code> {!isAllowed && <span class="quiet">not allowed</span>}
                  </li>
                ))}
                {found.length > SHOWN_VERSIONS && <li class="quiet">and {found.length - SHOWN_VERSIONS} more</li>}
              </ul>
            )}
            <p>
              <button type="button" disabled={isBusy} onClick={() => void refresh()}>
                Ask the registry now
              </button>{' '}
              {fetchedAt !== undefined && (
                <span class="quiet">
                  Asked <When at={fetchedAt} />
                </span>
              )}
            </p>
          </>
        )}
      </Loaded>
    </>
  );
}
