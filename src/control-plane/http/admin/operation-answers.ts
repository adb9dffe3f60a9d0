import { Type, type Static } from 'typebox';
import { OPERATION_OPTIONS, OPERATION_PHASES } from '../../../resources/operation.ts';
import { AnyObject, answerOf, ConditionAnswer, listOf, oneOf, pageOf, Time } from '../openapi/answers.ts';
import { IntentState } from './intent-answers.ts';

const properties = {
  id: Type.String({ description: 'of its intent' }),
  clusterId: Type.String(),
  clusterSlug: Type.String(),
  namespace: Type.String(),
  name: Type.String(),
  template: Type.Optional(Type.String()),
  /** `Pending`: the cluster has told nothing yet. */
  phase: oneOf([...OPERATION_PHASES, 'Pending']),
  targetRef: OPERATION_OPTIONS.targetRef,
  deadlineSeconds: Type.Optional(Type.Integer()),
  ttlSecondsAfterFinished: Type.Optional(Type.Integer()),
  conditions: listOf(ConditionAnswer),
  startedAt: Type.Optional(Time),
  finishedAt: Type.Optional(Time),
  requestedBy: Type.String(),
  requestedAt: Time,
  requestReason: Type.Optional(Type.String()),
  /** It, and what cancels it. */
  intents: listOf(
    Type.Object({
      id: Type.String(),
      generation: Type.Integer(),
      state: IntentState,
      reason: Type.Optional(Type.String()),
      cancel: Type.Optional(Type.Literal(true)),
      requestedBy: Type.String(),
    }),
  ),
};

export const OperationAnswer = answerOf('OperationAnswer', properties);
export type OperationView = Static<typeof OperationAnswer>;
export const OperationPageAnswer = pageOf(OperationAnswer);
export const WholeOperationAnswer = answerOf('WholeOperationAnswer', { ...properties, parameters: AnyObject });

/** `cancellation` is absent where the operation had not left the control plane, and never will. */
export const CancelledIntentAnswer = answerOf('CancelledIntentAnswer', {
  id: Type.String(),
  state: IntentState,
  reason: Type.Optional(Type.String()),
  cancellation: Type.Optional(Type.Object({ id: Type.String(), generation: Type.Integer(), state: IntentState })),
});
