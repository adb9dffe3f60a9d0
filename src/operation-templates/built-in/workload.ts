import { Type } from 'typebox';
import { oneOf, subdomain } from '../../resources/spec-parts.ts';
import { exactlyOneTarget, type BuiltInTemplate } from './built-in-template.ts';

export const WORKLOAD_KINDS = ['Deployment', 'StatefulSet', 'DaemonSet'] as const;
export type WorkloadKind = (typeof WORKLOAD_KINDS)[number];

const strict = { additionalProperties: false } as const;

export const RolloutRestartParameters = Type.Object(
  {
    kind: Type.Optional(oneOf(WORKLOAD_KINDS, { description: 'Kind of the workload (default: Deployment).' })),
    name: Type.Optional(subdomain('Name of the workload.')),
  },
  strict,
);

export const rolloutRestart: BuiltInTemplate = {
  description: 'Restart the pods of a workload one after the other.',
  parameters: RolloutRestartParameters,
  deadlineSeconds: 900,
  isRetryable: false,
  isCancellable: false,
  targets: WORKLOAD_KINDS,
  faults: exactlyOneTarget('name'),
};

export const ScaleParameters = Type.Object(
  {
    kind: Type.Optional(
      oneOf(WORKLOAD_KINDS, { description: 'Kind of the workload, Deployment or StatefulSet (default: Deployment).' }),
    ),
    name: Type.Optional(subdomain('Name of the workload.')),
    replicas: Type.Integer({ minimum: 0, maximum: 10_000, description: 'How many pods it should have.' }),
  },
  strict,
);

export const scale: BuiltInTemplate = {
  description: 'Set the number of replicas of a workload.',
  parameters: ScaleParameters,
  deadlineSeconds: 900,
  isRetryable: false,
  isCancellable: false,
  targets: WORKLOAD_KINDS,
  faults: (parameters, target) => [
    ...exactlyOneTarget('name')(parameters, target),
    ...((target?.kind ?? parameters['kind']) === 'DaemonSet'
      ? [{ path: '/kind', message: 'a DaemonSet has one pod on each node and no number of replicas to set' }]
      : []),
  ],
};
