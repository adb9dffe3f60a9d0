import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { path } from '../api/client.ts';
import { missingText, type Approval } from '../api/reviews.ts';
import { useOfCluster } from '../api/of-cluster.ts';
import { Badge } from '../components/badge.tsx';
import { Copyable } from '../components/copyable.tsx';
import { Facts } from '../components/facts.tsx';
import { ClusterLink, IntentLink } from '../components/links.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { When } from '../components/when.tsx';
import { YamlBlock } from '../components/yaml-block.tsx';
import { Page } from '../page.tsx';
import { href } from '../router.ts';
import type { ViewProps } from '../routes.ts';
import { ApprovalActs } from './approval-acts.tsx';
import { subjectOf } from './approvals.tsx';

/** One approval: what exactly is approved, who has and who is missing. */
export function ApprovalView({ parts: [id = ''] }: ViewProps): JSX.Element {
  const approval = useOfCluster<Approval>(path`/approvals/${id}`, 'approvals', 'intents');
  return <Loaded of={approval}>{(data) => <ApprovalPage approval={data} reload={approval.reload} />}</Loaded>;
}

interface ApprovalPageProps {
  readonly approval: Approval;
  readonly reload: () => void;
}

function ApprovalPage({ approval: newest, reload }: ApprovalPageProps): JSX.Element {
  // What is read stays what it is until the reader asks for what came after it.
  const [held, hold] = useState(newest);
  const isSame = held.specHash === newest.specHash;
  const approval = isSame || newest.state !== 'pending' ? newest : { ...newest, ...partsRead(held) };
  const { state, proposalId, requestReason, reason } = approval;
  const isOpen = state === 'pending';
  return (
    <Page
      title={`Approve ${subjectOf(approval)}`}
      above={<a href="#/approvals">Approvals</a>}
      beside={<Badge state={state} />}
    >
      <p class="quiet">
        Asked for by {approval.requestedBy} <When at={approval.requestedAt} />
      </p>
      {requestReason !== undefined && <p class="note">{requestReason}</p>}
      {reason !== undefined && <p class="note">{reason}</p>}
      <Facts
        entries={[
          ['Cluster', <ClusterLink key="cluster" slug={approval.clusterSlug} />],
          ['Kind', approval.kind],
          ['Template', approval.template],
          ['Catalog entry', approval.catalogEntry],
          ['Chart version', approval.chartVersion],
          ['Intent', <IntentLink key="intent" id={approval.intentId} />],
          ['Spec hash', <Copyable key="hash" text={approval.specHash} what="hash of the spec" />],
          ['Missing', isOpen && (missingText(approval.missing) || 'nobody')],
          ['Falls', isOpen && <When at={approval.expiresAt} />],
          ['Decided', approval.decidedAt && <When at={approval.decidedAt} />],
          ['Good until', approval.statementExpiresAt && <When at={approval.statementExpiresAt} />],
        ]}
      />
      <h2>What is approved</h2>
      <p class="quiet">
        Exactly this, by its spec hash: the cluster refuses anything else that comes under this approval.
      </p>
      {approval.specHash !== newest.specHash && (
        <div class="note" role="status">
          <p>It was rendered again: this is not there to be approved any more. Read it anew.</p>
          <button type="button" onClick={() => hold(newest)}>
            Show what is to be approved now
          </button>
        </div>
      )}
      <Manifest approval={approval} />
      <h2>Who has approved</h2>
      <Given approval={approval} />
      {isOpen && proposalId === undefined && (
        <ApprovalActs approval={approval} isRead={approval.specHash === newest.specHash} done={reload} />
      )}
      {isOpen && proposalId !== undefined && (
        <p class="note">
          Whoever approves its proposal approves this too:{' '}
          <a href={href(path`/proposals/${proposalId}`)}>to the proposal</a>.
        </p>
      )}
    </Page>
  );
}

/** What the approval would be for. */
function partsRead({ specHash, manifest }: Approval): Pick<Approval, 'specHash' | 'manifest'> {
  return { specHash, ...(manifest === undefined ? {} : { manifest }) };
}

function Manifest({ approval: { manifest, proposalId } }: { readonly approval: Approval }): JSX.Element {
  if (manifest !== undefined) return <YamlBlock text={manifest} label="Manifest that is approved" />;
  if (proposalId === undefined) return <Empty title="The manifest is not rendered yet" />;
  return (
    <Empty title="The proposal shows what it changes">
      <a href={href(path`/proposals/${proposalId}`)}>To the proposal</a>
    </Empty>
  );
}

function Given({ approval: { given, required } }: { readonly approval: Approval }): JSX.Element {
  if (given.length === 0) return <p class="quiet">Nobody yet, of {required.count}.</p>;
  return (
    <ol class="reviews">
      {given.map(({ by, at, comment }) => (
        <li key={by}>
          <strong>{by}</strong> approved <When at={at} />
          {comment !== undefined && <p class="said">{comment}</p>}
        </li>
      ))}
    </ol>
  );
}
