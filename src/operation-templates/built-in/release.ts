import { Type } from 'typebox';
import { ObjectName, SemverVersion } from '../../protocol/names.ts';
import { exactlyOneTarget, type BuiltInTemplate } from './built-in-template.ts';

const strict = { additionalProperties: false } as const;
const Application = Type.Optional(
  Type.String({ ...ObjectName, description: 'Name of the ApplicationInstance, in the namespace of the operation.' }),
);

export const ReleaseReconcileParameters = Type.Object(
  {
    application: Application,
    force: Type.Optional(
      Type.Boolean({ description: 'Have one upgrade made although nothing changed (default: false).' }),
    ),
    reset: Type.Optional(Type.Boolean({ description: 'Forget failed tries first (default: false).' })),
  },
  strict,
);

export const releaseReconcile: BuiltInTemplate = {
  description: 'Have the release controller look at an application now.',
  parameters: ReleaseReconcileParameters,
  deadlineSeconds: 900,
  isRetryable: false,
  isCancellable: false,
  targets: ['ApplicationInstance'],
  faults: exactlyOneTarget('application'),
};

export const ReleaseRollbackParameters = Type.Object(
  {
    application: Application,
    chartVersion: Type.Optional(
      Type.String({ ...SemverVersion, description: 'Version to go back to (default: the one released before).' }),
    ),
    values: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Values to go back to, whole (default: the present ones stay).',
      }),
    ),
  },
  strict,
);

export const releaseRollback: BuiltInTemplate = {
  description: 'Take an application back to an earlier release.',
  parameters: ReleaseRollbackParameters,
  deadlineSeconds: 900,
  isRetryable: false,
  isCancellable: false,
  targets: ['ApplicationInstance'],
  faults: exactlyOneTarget('application'),
};
