import { Type, type Static } from 'typebox';
import { ObjectName } from '../protocol/names.ts';
import { DriftIgnore } from './drift-ignore.ts';
import { DURATION_PATTERN, label, oneOf } from './spec-parts.ts';

const strict = { additionalProperties: false } as const;

export const ReleaseName = Type.String({
  ...ObjectName,
  description: 'Name of the Helm release (default: the name of this object). It cannot be changed later.',
});

export const TargetNamespace = label(
  'Namespace to install into (default: the own one); it must be allowed for the cluster. It cannot be changed later.',
);

export const DependsOn = Type.Array(
  Type.Object(
    {
      name: Type.String({ ...ObjectName, description: 'Name of the ApplicationInstance to wait for.' }),
      namespace: Type.Optional(label('Namespace of that ApplicationInstance (default: the own one).')),
    },
    { ...strict, description: 'One ApplicationInstance that must be Ready.' },
  ),
  {
    maxItems: 32,
    description: 'ApplicationInstances that must be Ready before this one is installed or upgraded.',
  },
);

export const UpgradePolicy = Type.Object(
  {
    timeout: Type.Optional(
      Type.String({
        pattern: DURATION_PATTERN,
        maxLength: 32,
        description: 'Time that one try may take, such as 5m or 1h30m (default: that of Flux, 5m).',
      }),
    ),
    retries: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 100,
        description: 'Further tries after the first one failed (default: 0).',
      }),
    ),
    remediation: Type.Optional(
      oneOf(['rollback', 'uninstall', 'none'], {
        description:
          'What happens after the last failed try: back to the revision before, uninstall, or leave it as it is (default: none).',
      }),
    ),
  },
  { ...strict, description: 'How an upgrade is tried and what happens when it fails.' },
);

export const DriftDetection = oneOf(['enabled', 'warn', 'disabled'], {
  description:
    'What Flux does about changes that others make to what the chart installed: correct, only report, or ignore (default: disabled).',
});

export const Suspend = Type.Boolean({
  description: 'Stop reconciling this instance; what runs keeps running (default: false).',
});

export const DeletionPolicy = oneOf(['Delete', 'Orphan'], {
  description:
    'What becomes of the release when this object is deleted by an uninstall intent: uninstalled or kept (default: Delete). ' +
    'A deletion by hand always keeps it.',
});

/** What an instance may be told beside its chart and values: in its spec, in an intent and in the record of one. */
export const INSTANCE_OPTIONS = {
  releaseName: Type.Optional(ReleaseName),
  targetNamespace: Type.Optional(TargetNamespace),
  dependsOn: Type.Optional(DependsOn),
  upgrade: Type.Optional(UpgradePolicy),
  driftDetection: Type.Optional(DriftDetection),
  driftIgnore: Type.Optional(DriftIgnore),
  suspend: Type.Optional(Suspend),
  deletionPolicy: Type.Optional(DeletionPolicy),
} as const;

const InstanceOptions = Type.Object(INSTANCE_OPTIONS);
export type InstanceOptions = Static<typeof InstanceOptions>;
export type InstanceOption = keyof InstanceOptions;

export const INSTANCE_OPTION_NAMES = Object.keys(INSTANCE_OPTIONS) as readonly InstanceOption[];
