import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { call, path } from '../api/client.ts';
import { whyNotCounted, type Approval } from '../api/reviews.ts';
import { ActButton } from '../components/act-button.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { useMe } from '../me-context.ts';
import { subjectOf } from './approvals.tsx';

type Verb = 'approve' | 'reject';

/** The hash of what was read goes with the approval: it is for nothing else. */
export function ApprovalActs({
  approval,
  isRead,
  done,
}: {
  readonly approval: Approval;
  /** Whether what is on the screen is still what would be approved. */
  readonly isRead: boolean;
  readonly done: () => void;
}): JSX.Element {
  const me = useMe();
  const field = useId();
  const [comment, setComment] = useState('');
  const [asked, ask] = useState<Verb>();
  const text = comment.trim();
  const given = approval.given.map(({ by }) => by);
  const act = async (verb: Verb): Promise<void> => {
    await call('POST', `${path`/intents/${approval.intentId}`}/${verb}`, {
      body: {
        ...(text === '' ? {} : { comment: text }),
        ...(verb === 'approve' ? { specHash: approval.specHash } : {}),
      },
    });
    setComment('');
    done();
  };
  const what = subjectOf(approval);
  const whyNotRead = !isRead
    ? 'It was rendered again: read it anew.'
    : approval.manifest === undefined
      ? 'What would be approved is not shown yet: read that first.'
      : undefined;
  return (
    <form class="review-acts" onSubmit={(event) => event.preventDefault()}>
      <label for={field}>Comment</label>
      <textarea
        id={field}
        rows={3}
        maxLength={4000}
        value={comment}
        onInput={(event) => setComment(event.currentTarget.value)}
      />
      <div class="buttons">
        <ActButton
          scope="approve"
          look="main"
          why={whyNotCounted(me, approval.requestedBy, given, approval.missing) ?? whyNotRead}
          onClick={() => ask('approve')}
        >
          Approve…
        </ActButton>
        <ActButton scope="approve" look="danger" onClick={() => ask('reject')}>
          Reject…
        </ActButton>
      </div>
      {asked === 'approve' && (
        <ConfirmDialog
          title={`Approve ${what}?`}
          action="Approve"
          onConfirm={async () => await act('approve')}
          onClose={() => ask(undefined)}
        >
          <p>
            You approve the manifest with the spec hash <code>{approval.specHash}</code> on {approval.clusterSlug}, as{' '}
            {me.name}. With the last approval that is missing it is signed and delivered at once.
          </p>
        </ConfirmDialog>
      )}
      {asked === 'reject' && (
        <ConfirmDialog
          title={`Reject ${what}?`}
          action="Reject"
          isDangerous
          onConfirm={async () => await act('reject')}
          onClose={() => ask(undefined)}
        >
          <p>The intent fails and is never delivered. {approval.requestedBy} can ask for it anew.</p>
          {text === '' && <p>Without a comment: {approval.requestedBy} learns no reason.</p>}
        </ConfirmDialog>
      )}
    </form>
  );
}
