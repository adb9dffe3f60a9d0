import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Scope } from '../../control-plane/access.ts';
import { messageOf } from '../api/api-error.ts';
import { call, path } from '../api/client.ts';
import { whyNotCounted, type Proposal } from '../api/reviews.ts';
import { ActButton } from '../components/act-button.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { useMe } from '../me-context.ts';

type Verb = 'approve' | 'comment' | 'merge' | 'reject' | 'supersede';

interface Act {
  readonly label: string;
  readonly scope: Scope;
  readonly look?: 'main' | 'danger';
  /** What will happen; such an act is asked about before. */
  readonly warning?: string;
}

const ACTS: Readonly<Record<Verb, Act>> = {
  approve: { label: 'Approve', scope: 'approve', look: 'main' },
  comment: { label: 'Comment', scope: 'deploy' },
  merge: { label: 'Merge', scope: 'approve' },
  reject: {
    label: 'Reject',
    scope: 'approve',
    look: 'danger',
    warning: 'The proposal is closed, its branch is deleted and the intent fails. Nothing of it reaches the cluster.',
  },
  supersede: {
    label: 'Withdraw',
    scope: 'deploy',
    look: 'danger',
    warning:
      'The proposal is closed, its branch is deleted and the intent ends as superseded. It can be asked for anew.',
  },
};

interface ProposalActsProps {
  readonly proposal: Proposal;
  /** The revision whose diff is on the screen. */
  readonly read: number | undefined;
  /** Why that is nothing to approve by. */
  readonly whyNotRead: string | undefined;
  readonly done: () => void;
}

/** The revision that was read goes with each act: what was rendered again meanwhile is not approved unseen. */
export function ProposalActs({ proposal, read, whyNotRead, done }: ProposalActsProps): JSX.Element {
  const { id, author, approvals } = proposal;
  const me = useMe();
  const field = useId();
  const [comment, setComment] = useState('');
  const [fault, setFault] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [asked, ask] = useState<Verb>();
  const text = comment.trim();

  const act = async (verb: Verb): Promise<void> => {
    await call('POST', `${path`/proposals/${id}`}/${verb}`, {
      body: { ...(read === undefined ? {} : { revision: read }), ...(text === '' ? {} : { comment: text }) },
    });
    setComment('');
    done();
  };
  const tryTo = async (verb: Verb): Promise<void> => {
    setBusy(true);
    setFault('');
    try {
      await act(verb);
    } catch (error) {
      setFault(messageOf(error));
    }
    setBusy(false);
  };
  const whyOf = (verb: Verb): string | undefined => {
    if (isBusy) return 'Wait for the answer to what you did before.';
    if (verb === 'approve') return whyNotCounted(me, author, approvals.given, approvals.missing) ?? whyNotRead;
    if (verb === 'comment' && text === '') return 'Write the comment first.';
    if (verb === 'merge' && (approvals.missing.count > 0 || Object.keys(approvals.missing.roles ?? {}).length > 0))
      return 'Approvals are still missing.';
    return verb === 'merge' ? whyNotRead : undefined;
  };

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
      <p class="fault" role="alert">
        {fault}
      </p>
      <div class="buttons">
        {(Object.keys(ACTS) as Verb[]).map((verb) => {
          const { label, scope, look, warning } = ACTS[verb];
          return (
            <ActButton
              key={verb}
              scope={scope}
              {...(look === undefined ? {} : { look })}
              why={whyOf(verb)}
              onClick={() => (warning === undefined ? void tryTo(verb) : ask(verb))}
            >
              {label}
            </ActButton>
          );
        })}
      </div>
      {asked !== undefined && (
        <ConfirmDialog
          title={`${ACTS[asked].label} this proposal?`}
          action={ACTS[asked].label}
          isDangerous
          onConfirm={async () => await act(asked)}
          onClose={() => ask(undefined)}
        >
          <p>{ACTS[asked].warning}</p>
          <p>
            {text === ''
              ? 'Without a comment: the requester learns no reason.'
              : `Your comment goes with it: “${text}”`}
          </p>
        </ConfirmDialog>
      )}
    </form>
  );
}
