import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { messageOf } from '../api/api-error.ts';
import { call, path } from '../api/client.ts';
import type { Proposal, Review } from '../api/proposal.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Badge } from '../components/badge.tsx';
import { Copyable } from '../components/copyable.tsx';
import { Facts } from '../components/facts.tsx';
import { ClusterLink, CommitLink, IntentLink } from '../components/links.tsx';
import { Patch, type ChangedFile } from '../components/patch.tsx';
import { Loaded } from '../components/states.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import type { ViewProps } from '../routes.ts';

/** One proposal: what it changes, who said what, and what the reader may do about it. */
export function ProposalView({ parts: [id = ''] }: ViewProps): JSX.Element {
  const proposal = useResource<Proposal>(path`/proposals/${id}`, isOf('proposals'));
  return <Loaded of={proposal}>{(data) => <Reviewed proposal={data} reload={proposal.reload} />}</Loaded>;
}

interface OneProps {
  readonly proposal: Proposal;
  readonly reload: () => void;
}

function Reviewed({ proposal, reload }: OneProps): JSX.Element {
  const diff = useResource<{ readonly files: readonly ChangedFile[] }>(
    path`/proposals/${proposal.id}/diff`,
    isOf('proposals'),
  );
  return (
    <Page title={proposal.title} beside={<Badge state={proposal.state} />}>
      <p>
        Asked for by {proposal.author} <When at={proposal.createdAt} />
        {proposal.revision > 1 ? `, rendered ${proposal.revision} times` : ''}
      </p>
      {proposal.closeReason === undefined ? null : <p class="note">{proposal.closeReason}</p>}
      <Facts
        entries={[
          ['Cluster', <ClusterLink slug={proposal.clusterSlug} />],
          ['Approvals', approvalsOf(proposal)],
          ['Intent', <IntentLink id={proposal.intentId} />],
          ['Branch', <code>{proposal.branch}</code>],
          ['Stands on', proposal.baseCommit && <Copyable text={proposal.baseCommit} what="commit" shown={10} />],
          [
            'Merged as',
            proposal.mergedCommit && <CommitLink repository={proposal.repository} commit={proposal.mergedCommit} />,
          ],
          ['On its Git host', hostLink(proposal)],
        ]}
      />
      <h2>What it changes</h2>
      <Loaded of={diff}>{({ files }) => <Patch files={files} />}</Loaded>
      <h2>Reviews</h2>
      <Reviews reviews={proposal.reviews} />
      {proposal.state === 'open' || proposal.state === 'merging' ? <Acts proposal={proposal} reload={reload} /> : null}
    </Page>
  );
}

function approvalsOf({ approvals: { given, required, missing } }: Proposal): string {
  const had = given.length === 0 ? 'none yet' : given.join(', ');
  const roles = Object.entries(missing.roles ?? {}).map(([role, count]) => `${count} as ${role}`);
  const wanted = [...(missing.count > 0 ? [`${missing.count} more`] : []), ...roles];
  return wanted.length === 0 ? `${had}: all ${required.count} that are needed` : `${had}; needs ${wanted.join(', ')}`;
}

/** Only an address that a browser opens as a page; whatever else a host says is shown as text. */
function hostLink({ hostUrl, hostNumber }: Proposal): JSX.Element | string | undefined {
  if (hostUrl === undefined) return undefined;
  const text = hostNumber === undefined ? hostUrl : `number ${hostNumber}`;
  if (!/^https?:\/\//.test(hostUrl)) return text;
  return (
    <a href={hostUrl} rel="noreferrer">
      {text}
    </a>
  );
}

const VERBS: Readonly<Record<string, string>> = { approve: 'approved', reject: 'rejected', comment: 'commented' };

function Reviews({ reviews }: { readonly reviews: readonly Review[] }): JSX.Element {
  if (reviews.length === 0) return <p class="quiet">Nobody has said anything yet.</p>;
  return (
    <ol class="reviews">
      {reviews.map((review) => (
        <li key={`${review.actor} ${review.at}`} class={review.droppedAt === undefined ? '' : 'dropped'}>
          <strong>{review.actor}</strong> {VERBS[review.kind] ?? review.kind} <When at={review.at} />
          {review.roles.length === 0 ? '' : ` as ${review.roles.join(', ')}`}
          {review.droppedAt === undefined ? '' : ` (of revision ${review.revision}; no longer counts)`}
          {review.comment === undefined ? null : <p class="said">{review.comment}</p>}
        </li>
      ))}
    </ol>
  );
}

const ACTS = [
  ['approve', 'Approve', 'main'],
  ['comment', 'Comment', ''],
  ['merge', 'Merge', ''],
  ['reject', 'Reject', 'danger'],
  ['supersede', 'Withdraw', 'danger'],
] as const;

/** The revision that was read goes with each act: what was rendered again meanwhile is not approved unseen. */
function Acts({ proposal: { id, revision }, reload }: OneProps): JSX.Element {
  const [comment, setComment] = useState('');
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const act = async (verb: string): Promise<void> => {
    const text = comment.trim();
    setBusy(true);
    setFault(undefined);
    try {
      const body = { revision, ...(text === '' ? {} : { comment: text }) };
      await call('POST', `${path`/proposals/${id}`}/${verb}`, { body });
      setComment('');
      reload();
    } catch (error) {
      setFault(messageOf(error));
    }
    setBusy(false);
  };
  return (
    <form class="actions" onSubmit={(event) => event.preventDefault()}>
      <label for="comment">Comment</label>
      <textarea
        id="comment"
        rows={3}
        maxlength={4000}
        value={comment}
        onInput={(event) => setComment(event.currentTarget.value)}
      />
      <p class="fault" role="alert">
        {fault}
      </p>
      <div class="buttons">
        {ACTS.map(([verb, label, look]) => (
          <button
            key={verb}
            type="button"
            class={look}
            data-act={verb}
            disabled={isBusy}
            onClick={() => void act(verb)}
          >
            {label}
          </button>
        ))}
      </div>
    </form>
  );
}
