import { Type } from 'typebox';
import { CLUSTER_HEALTHS } from '../../store/cluster-health.ts';
import { oneOf, Time } from '../openapi/answers.ts';

export const HealthName = oneOf(CLUSTER_HEALTHS);
export const LabelsAnswer = Type.Record(Type.String(), Type.String(), { description: 'name to value' });

/** What of a cluster is told beside its settings, wherever it is shown. */
export const CLUSTER_STANDING = {
  labels: LabelsAnswer,
  health: HealthName,
  waitingFor: Type.Optional(
    Type.Object(
      {
        count: Type.Integer({ description: 'intents that wait' }),
        text: Type.String({ description: 'what the one waits for that has waited longest' }),
        intentId: Type.Optional(Type.String()),
        since: Time,
      },
      { description: 'absent: nothing waits' },
    ),
  ),
  applications: Type.Object({
    total: Type.Integer(),
    ready: Type.Integer(),
    failed: Type.Integer(),
    progressing: Type.Integer(),
  }),
} as const;
