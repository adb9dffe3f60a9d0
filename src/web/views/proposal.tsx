import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { path } from '../api/client.ts';
import { missingText, type Proposal, type Review } from '../api/reviews.ts';
import { useOfCluster } from '../api/of-cluster.ts';
import { isOf, useResource, type Resource } from '../api/use-resource.ts';
import { Badge } from '../components/badge.tsx';
import { Copyable } from '../components/copyable.tsx';
import { Facts } from '../components/facts.tsx';
import { ClusterLink, CommitLink, IntentLink } from '../components/links.tsx';
import { Loaded, Skeleton } from '../components/states.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import type { ViewProps } from '../routes.ts';
import { YamlDiff, type ChangedFile } from '../yaml-diff/yaml-diff.tsx';
import { ProposalActs } from './proposal-acts.tsx';

/** One proposal: what it changes, who said what, and what the reader may do about it. */
export function ProposalView({ parts: [id = ''] }: ViewProps): JSX.Element {
  const proposal = useOfCluster<Proposal>(path`/proposals/${id}`, 'proposals', 'intents');
  return <Loaded of={proposal}>{(data) => <ProposalPage proposal={data} reload={proposal.reload} />}</Loaded>;
}

interface ProposalPageProps {
  readonly proposal: Proposal;
  readonly reload: () => void;
}

function ProposalPage({ proposal, reload }: ProposalPageProps): JSX.Element {
  const { id, state, revision, repository, baseCommit, mergedCommit, hostUrl } = proposal;
  const diff = useResource<RevisionDiff>(path`/proposals/${id}/diff`, isOf('proposals'));
  const { read, isNew, readAnew } = useRead(diff.data);
  const whyNotRead = whyUnread(revision, read, diff);
  return (
    <Page title={proposal.title} above={<a href="#/proposals">Proposals</a>} beside={<Badge state={state} />}>
      <p class="quiet">
        Asked for by {proposal.author} <When at={proposal.createdAt} />
        {revision > 1 && `, rendered ${revision} times`}
      </p>
      {proposal.closeReason !== undefined && <p class="note">{proposal.closeReason}</p>}
      <Facts
        entries={[
          ['Cluster', <ClusterLink key="cluster" slug={proposal.clusterSlug} />],
          ['Approvals', approvalsText(proposal)],
          ['Intent', <IntentLink key="intent" id={proposal.intentId} />],
          ['Branch', <Copyable key="branch" text={proposal.branch} what="name of the branch" />],
          ['Stands on', baseCommit && <CommitLink commit={baseCommit} repository={repository} />],
          ['Merged as', mergedCommit && <CommitLink commit={mergedCommit} repository={repository} />],
          ['On its Git host', hostUrl && <HostLink url={hostUrl} number={proposal.hostNumber} />],
        ]}
      />
      <h2>What it changes</h2>
      {read !== undefined && read.revision !== revision && (
        <div class="note" role="status">
          <p>
            It was rendered again: this is revision {read.revision}, which is not there to be approved any more. Read it
            anew.
          </p>
          {isNew && (
            <button type="button" onClick={readAnew}>
              Show revision {diff.data?.revision}
            </button>
          )}
        </div>
      )}
      {read === undefined ? (
        <Loaded of={diff}>{() => <Skeleton />}</Loaded>
      ) : (
        <YamlDiff key={read.revision} files={read.files} />
      )}
      <h2>Reviews</h2>
      <Reviews reviews={proposal.reviews} />
      {(state === 'open' || state === 'merging') && (
        <ProposalActs proposal={proposal} read={read?.revision} whyNotRead={whyNotRead} done={reload} />
      )}
    </Page>
  );
}

interface RevisionDiff {
  readonly revision: number;
  readonly files: readonly ChangedFile[];
}

/** The diff that the reader has before him or her: another revision does not take its place until asked for. */
function useRead(diff: RevisionDiff | undefined): {
  readonly read: RevisionDiff | undefined;
  readonly isNew: boolean;
  readonly readAnew: () => void;
} {
  const [held, hold] = useState<RevisionDiff>();
  useEffect(() => {
    if (diff !== undefined && (held === undefined || held.revision === diff.revision)) hold(diff);
  }, [diff, held]);
  const isNew = held !== undefined && diff !== undefined && diff.revision !== held.revision;
  return { read: held, isNew, readAnew: () => hold(diff) };
}

/** Why nothing can be approved by what is shown. */
function whyUnread(revision: number, read: RevisionDiff | undefined, diff: Resource<RevisionDiff>): string | undefined {
  if (read === undefined) return 'What it changes is not shown yet: read that first.';
  if (read.revision !== revision || (diff.data !== undefined && diff.data.revision !== revision))
    return 'It was rendered again: read it anew.';
  if (diff.data === undefined) return `What it changes cannot be read now: ${diff.error?.message ?? 'wait for it'}`;
  return undefined;
}

function approvalsText({ approvals: { given, required, missing } }: Proposal): string {
  const had = given.length === 0 ? 'none yet' : given.join(', ');
  const wanted = missingText(missing);
  return wanted === '' ? `${had}: all ${required.count} that are needed` : `${had}; needs ${wanted}`;
}

/** Only an address that a browser opens as a page; whatever else a host says is shown as text. */
function HostLink({ url, number }: { readonly url: string; readonly number: number | undefined }): JSX.Element {
  const text = number === undefined ? url : `number ${number}`;
  if (!/^https?:\/\//.test(url)) return <>{text}</>;
  return (
    <a href={url} rel="noreferrer">
      {text}
    </a>
  );
}

const VERBS = { approve: 'approved', reject: 'rejected', comment: 'commented' } as const;

function Reviews({ reviews }: { readonly reviews: readonly Review[] }): JSX.Element {
  if (reviews.length === 0) return <p class="quiet">Nobody has said anything yet.</p>;
  return (
    <ol class="reviews">
      {reviews.map((review) => (
        <li key={review.id} class={review.droppedAt === undefined ? '' : 'dropped'}>
          <strong>{review.actor}</strong> {VERBS[review.kind]} <When at={review.at} />
          {review.roles.length > 0 && ` as ${review.roles.join(', ')}`}
          {review.droppedAt !== undefined && ` (of revision ${review.revision}; no longer counts)`}
          {review.comment !== undefined && <p class="said">{review.comment}</p>}
        </li>
      ))}
    </ol>
  );
}
