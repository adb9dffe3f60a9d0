import { Type } from 'typebox';
import { INTENT_ACTIONS } from '../../../intent/intent-record.ts';
import { ConnectivityMode } from '../../../protocol/connectivity-mode.ts';
import { CredentialChange, ObjectLeft } from '../../modes/mode-switch.ts';
import { SwitchProbe } from '../../push/switch-probe.ts';
import { answerOf, listOf, oneOf, pageOf, Warnings } from '../openapi/answers.ts';
import { SwitchAnswer } from './switch-view.ts';

export const SwitchPageAnswer = pageOf(SwitchAnswer);
export const StartedSwitchAnswer = answerOf('StartedSwitchAnswer', { switch: SwitchAnswer, warnings: Warnings });

const { kind, namespace, name } = ObjectLeft.properties;

/** What a switch would do. */
const PlanAnswer = answerOf('PlanAnswer', {
  wouldStart: Type.Boolean(),
  blockers: listOf(Type.String({ description: 'what has to be otherwise first' })),
  epoch: Type.Integer(),
  objects: Type.Object({
    total: Type.Integer(),
    /** The first hundred. */
    items: listOf(Type.Object({ kind, namespace, name, action: oneOf(INTENT_ACTIONS), generation: Type.Integer() })),
    left: listOf(ObjectLeft),
  }),
  waitingIntents: Type.Integer(),
  jobs: Type.Object({ open: Type.Integer(), acknowledged: Type.Integer() }),
  proposals: Type.Object({ open: Type.Integer(), ids: listOf(Type.String()) }),
  staleFiles: listOf(Type.Omit(ObjectLeft, ['reason'])),
  config: listOf(Type.Object({ field: Type.String(), from: Type.String(), to: Type.String() })),
  operator: Type.String({ description: 'whether it is in contact' }),
  toDo: listOf(Type.String({ description: 'for people, and when' })),
});

/** A switch that was only asked about, with what it would do. */
export const SwitchPlanAnswer = answerOf('SwitchPlanAnswer', {
  clusterId: Type.String(),
  clusterSlug: Type.String(),
  from: ConnectivityMode,
  to: ConnectivityMode,
  dryRun: Type.Literal(true),
  plan: PlanAnswer,
  probes: listOf(SwitchProbe),
  credentials: listOf(CredentialChange),
  requestedBy: Type.String(),
});
export const PlannedSwitchAnswer = answerOf('PlannedSwitchAnswer', { switch: SwitchPlanAnswer, warnings: Warnings });
