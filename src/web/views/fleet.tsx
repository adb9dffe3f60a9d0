import type { JSX } from 'preact';
import { query, type Page as ListPage } from '../api/client.ts';
import { CLUSTER_HEALTHS, MODES, type ClusterSummary } from '../api/clusters.ts';
import type { Fleet } from '../api/fleet.ts';
import { AGGREGATE_REST_MS, isOf, useResource } from '../api/use-resource.ts';
import { Badge, toneOf } from '../components/badge.tsx';
import { ClusterLink } from '../components/links.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import { href } from '../router.ts';
import type { ViewProps } from '../routes.ts';
import { FleetGroups } from './fleet-groups.tsx';
import { NewClusterButton } from './new-cluster.tsx';

/** The fleet at a glance: how it is, and what waits for whom. Each number leads to what it counts. */
export function FleetView({ parameters }: ViewProps): JSX.Element {
  const groupBy = parameters.get('groupBy') ?? undefined;
  const fleet = useResource<Fleet>(
    `/fleet${query({ groupBy })}`,
    isOf('clusters', 'intents', 'approvals', 'proposals', 'events'),
    AGGREGATE_REST_MS,
  );
  return (
    <Page title="Fleet" beside={<NewClusterButton />}>
      <Loaded of={fleet} lines={6}>
        {(data) =>
          data.clusters.total === 0 ? (
            <Empty title="There is no cluster yet.">
              Make one with the button above, then run its install command where the cluster is.
            </Empty>
          ) : (
            <>
              <HealthBar fleet={data} />
              <div class="panels">
                <WaitingPanel fleet={data} />
                <Trouble />
                <Counts fleet={data} />
              </div>
              <FleetGroups fleet={data} groupBy={groupBy} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function HealthBar({ fleet: { clusters } }: { readonly fleet: Fleet }): JSX.Element {
  return (
    <section class="health" aria-label="Clusters by health">
      <div class="health-bar" aria-hidden="true">
        {CLUSTER_HEALTHS.filter((health) => clusters.byHealth[health] > 0).map((health) => (
          <span key={health} class={`fill-${toneOf(health)}`} style={{ flexGrow: String(clusters.byHealth[health]) }} />
        ))}
      </div>
      <ul>
        <li>
          <a href="#/clusters">
            <strong>{clusters.total.toLocaleString('en')}</strong> {clusters.total === 1 ? 'cluster' : 'clusters'}
          </a>
        </li>
        {CLUSTER_HEALTHS.map((health) => (
          <li key={health}>
            <a href={href('/clusters', { health })}>
              <strong>{clusters.byHealth[health].toLocaleString('en')}</strong> <Badge state={health} />
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

const STATE_WORDS = [
  ['proposed', 'wait for a review'],
  ['accepted', 'wait to be delivered'],
  ['delivered', 'wait for their operator'],
  ['applied', 'wait to be ready'],
] as const;

/** What waits, and for whom: people first. */
function WaitingPanel({ fleet: { intents, approvals, proposals } }: { readonly fleet: Fleet }): JSX.Element {
  return (
    <section class="panel">
      <h2>Waiting</h2>
      <ul class="figures">
        <Figure count={approvals.pending} text="approvals wait for somebody" href={href('/approvals')} isMain />
        <Figure count={proposals.open} text="proposals wait for a review" href={href('/proposals')} isMain />
        {STATE_WORDS.map(([state, words]) => (
          <Figure
            key={state}
            count={intents.byState[state] ?? 0}
            text={`intents ${words}`}
            href={href('/intents', { state })}
          />
        ))}
      </ul>
    </section>
  );
}

interface FigureProps {
  readonly count: number;
  readonly text: string;
  readonly href: string;
  readonly isMain?: boolean;
}

function Figure({ count, text, href: target, isMain = false }: FigureProps): JSX.Element {
  return (
    <li class={count === 0 ? 'none' : isMain ? 'asked' : ''}>
      <a href={target}>
        <strong>{count.toLocaleString('en')}</strong> <span>{text}</span>
      </a>
    </li>
  );
}

function Counts({ fleet: { clusters } }: { readonly fleet: Fleet }): JSX.Element {
  return (
    <section class="panel">
      <h2>Modes and status</h2>
      <ul class="figures">
        {MODES.map((mode) => (
          <Figure
            key={mode}
            count={clusters.byMode[mode]}
            text={`in ${mode} mode`}
            href={href('/clusters', { mode })}
          />
        ))}
        {Object.entries(clusters.byStatus).map(([status, count]) => (
          <Figure
            key={status}
            count={count}
            text={STATUS_WORDS[status] ?? status}
            href={href('/clusters', { status })}
          />
        ))}
      </ul>
    </section>
  );
}

const STATUS_WORDS: Readonly<Record<string, string>> = {
  Active: 'registered',
  Pending: 'wait for their operator to register',
  Disabled: 'disabled',
};

/** A few clusters that somebody should look at. */
function Trouble(): JSX.Element {
  const changes = isOf('clusters', 'events');
  const list = (health: string): string => `/clusters${query({ fields: 'summary', health, limit: '6' })}`;
  const degraded = useResource<ListPage<ClusterSummary>>(list('degraded'), changes, AGGREGATE_REST_MS);
  const unreachable = useResource<ListPage<ClusterSummary>>(list('unreachable'), changes, AGGREGATE_REST_MS);
  const rows = [...(degraded.data?.items ?? []), ...(unreachable.data?.items ?? [])].slice(0, 8);
  return (
    <section class="panel">
      <h2>To look at</h2>
      <Loaded of={degraded}>
        {() =>
          rows.length === 0 ? (
            <p class="quiet">Every cluster answers, and no application is degraded.</p>
          ) : (
            <ul class="trouble">
              {rows.map(({ id, slug, health, disabledAt, lastContactAt, applications }) => (
                <li key={id}>
                  <ClusterLink slug={slug} />
                  <Badge state={disabledAt === undefined ? health : 'disabled'} />
                  <span class="quiet">
                    {health === 'degraded' ? (
                      `${applications.failed} of ${applications.total} degraded`
                    ) : (
                      <>
                        last heard <When at={lastContactAt} />
                      </>
                    )}
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}
