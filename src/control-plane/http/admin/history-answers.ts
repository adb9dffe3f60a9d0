import { Type } from 'typebox';
import { INTENT_ACTIONS } from '../../../intent/intent-record.ts';
import { answerOf, ConditionAnswer, listOf, oneOf, pageOf, Time } from '../openapi/answers.ts';
import { IntentAnswer, IntentState } from './intent-answers.ts';
import { JobAnswer } from './jobs.ts';

const Person = answerOf('PersonAnswer', { name: Type.String(), email: Type.String() });

const commit = {
  id: Type.String(),
  kind: oneOf(['intent', 'layout-move', 'other']),
  parents: listOf(Type.String()),
  subject: Type.String(),
  body: Type.Optional(Type.String()),
  author: Person,
  committer: Person,
  at: Time,
  trailers: Type.Record(Type.String(), Type.String()),
  clusterSlug: Type.Optional(Type.String()),
};

/** A commit as lists show it. */
export const CommitAnswer = answerOf('CommitAnswer', {
  ...commit,
  intent: Type.Optional(
    answerOf('CommittedIntentAnswer', {
      id: Type.String(),
      action: oneOf(INTENT_ACTIONS),
      namespace: Type.String(),
      name: Type.String(),
      generation: Type.Integer(),
      state: IntentState,
      requestedBy: Type.String(),
      requestReason: Type.Optional(Type.String()),
      appliedAt: Type.Optional(Time),
      readyAt: Type.Optional(Time),
    }),
  ),
});
export const CommitPageAnswer = pageOf(CommitAnswer);

const patches = {
  files: listOf(
    answerOf('FilePatchAnswer', {
      path: Type.String(),
      status: oneOf(['added', 'removed', 'modified']),
      patch: Type.Optional(
        Type.String({ description: 'unified, from its diff --git line on; absent where it is too large' }),
      ),
    }),
  ),
  truncated: Type.Boolean({ description: 'there is more than is shown' }),
};

/** A commit, what it changed, and what became of its intent. */
export const WholeCommitAnswer = answerOf('WholeCommitAnswer', {
  ...commit,
  intent: Type.Optional(IntentAnswer),
  jobs: Type.Optional(listOf(JobAnswer)),
  status: Type.Optional(listOf(ConditionAnswer)),
  signature: Type.Object({
    state: oneOf(['trusted', 'refused']),
    principal: Type.Optional(Type.String()),
    why: Type.Optional(Type.String()),
  }),
  ...patches,
});

export const DiffAnswer = answerOf('DiffAnswer', { base: Type.String(), head: Type.String(), ...patches });

export const BlameAnswer = answerOf('BlameAnswer', {
  path: Type.String(),
  lines: listOf(Type.Object({ line: Type.Integer(), commit: Type.String(), text: Type.String() })),
  commits: listOf(CommitAnswer),
});
