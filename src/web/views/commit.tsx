import type { JSX } from 'preact';
import { path } from '../api/client.ts';
import type { Commit } from '../api/history.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Badge } from '../components/badge.tsx';
import { Copyable } from '../components/copyable.tsx';
import { Facts } from '../components/facts.tsx';
import { ClusterLink, IntentLink } from '../components/links.tsx';
import { YamlDiff } from '../yaml-diff/yaml-diff.tsx';
import { Loaded } from '../components/states.tsx';
import { Table } from '../components/table.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import type { ViewProps } from '../routes.ts';

/** From a commit to its intent, the person, the reason, the job and what became of it. */
export function CommitView({ parts: [name = '', id = ''] }: ViewProps): JSX.Element {
  const commit = useResource<Commit>(path`/repositories/${name}/commits/${id}`, isOf('intents', 'events'));
  return <Loaded of={commit}>{(data) => <CommitPage commit={data} />}</Loaded>;
}

function CommitPage({ commit }: { readonly commit: Commit }): JSX.Element {
  const { intent, signature, trailers = {} } = commit;
  return (
    <Page title={commit.subject}>
      {(commit.body ?? '') === '' ? null : <p class="note">{commit.body}</p>}
      <Facts
        entries={[
          ['Commit', <Copyable text={commit.id} what="commit" />],
          ['When', <When at={commit.at} />],
          ['Asked for by', trailers['Requested-By'] ?? commit.author.name],
          ['Approved by', trailers['Approved-By']],
          [
            'Signature',
            signature && (
              <>
                <Badge state={signature.state} />{' '}
                {signature.state === 'trusted' ? `by ${signature.principal ?? ''}` : signature.why}
              </>
            ),
          ],
          ['Cluster', commit.clusterSlug && <ClusterLink slug={commit.clusterSlug} />],
          ['Intent', intent && <IntentLink id={intent.id} />],
          ['State', intent && <Badge state={intent.state} />],
          ['Applied', intent?.appliedAt && <When at={intent.appliedAt} />],
          ['Ready', intent?.readyAt && <When at={intent.readyAt} />],
        ]}
      />
      {intent === undefined ? null : <Became {...commit} />}
      <h2>What it changed</h2>
      <YamlDiff files={commit.files ?? []} />
    </Page>
  );
}

/** How its object stands, and the jobs that carried it, where it went by jobs. */
function Became({ status = [], jobs = [] }: Commit): JSX.Element {
  return (
    <>
      <h2>How its object stands</h2>
      {status.length === 0 ? (
        <p class="quiet">Its cluster has reported nothing yet.</p>
      ) : (
        <Table
          caption="Conditions"
          rows={status}
          rowKey={({ type }) => type}
          columns={[
            { head: 'Condition', cell: ({ type }) => type },
            { head: 'Status', cell: (one) => one.status },
            { head: 'Reason', cell: ({ reason }) => reason },
            { head: 'Message', look: 'fill', cell: ({ message }) => message },
            { head: 'Since', cell: ({ lastTransitionTime }) => <When at={lastTransitionTime} /> },
          ]}
        />
      )}
      {jobs.length === 0 ? null : (
        <>
          <h2>Jobs</h2>
          <Table
            caption="Jobs"
            rows={jobs}
            rowKey={({ id }) => id}
            columns={[
              { head: 'Job', cell: ({ id }) => <Copyable text={id} what="id of the job" /> },
              { head: 'State', cell: ({ state }) => <Badge state={state} /> },
              { head: 'Outcome', look: 'fill', cell: ({ outcome }) => outcome },
            ]}
          />
        </>
      )}
    </>
  );
}
