import { Type, type Static } from 'typebox';
import { ChartSource } from '../protocol/chart.ts';
import { EntryName, ObjectName, SemverVersion } from '../protocol/names.ts';
import type { KubeObject } from './kube-object.ts';
import {
  Conditions,
  DURATION_PATTERN,
  freeForm,
  label,
  ObservedGeneration,
  oneOf,
  StatusSource,
  subdomain,
} from './spec-parts.ts';

const strict = { additionalProperties: false } as const;

/** Which chart, from where, in which version. It must equal the catalog entry that is projected to the cluster. */
export const ApplicationChart = Type.Object(
  {
    type: oneOf(['oci', 'helm'], { description: 'oci: url is the whole oci:// address; helm: url is a repository.' }),
    url: Type.String({
      ...ChartSource.properties.url,
      description: 'oci://host/path/name of the chart, or the https:// address of its Helm repository.',
    }),
    name: Type.String({ ...ChartSource.properties.name, description: 'The name of the chart.' }),
    version: Type.String({ ...SemverVersion, description: 'The exact version of the chart, such as 6.5.0.' }),
    secretRef: Type.Optional(
      Type.Object(
        { name: subdomain('A Secret in the same namespace.') },
        { ...strict, description: 'The Secret that the chart is pulled with.' },
      ),
    ),
  },
  { ...strict, description: "The chart and its version; it must equal the cluster's catalog entry." },
);
export type ApplicationChart = Static<typeof ApplicationChart>;

export const ValuesReference = Type.Object(
  {
    kind: oneOf(['ConfigMap', 'Secret'], { description: 'Where the values are.' }),
    name: subdomain('Its name, in the same namespace.'),
    valuesKey: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        description: 'The key that holds the values (default values.yaml).',
      }),
    ),
    targetPath: Type.Optional(
      Type.String({ minLength: 1, maxLength: 250, description: 'Merge the single value at this path instead.' }),
    ),
    optional: Type.Optional(Type.Boolean({ description: 'Go on without it when it is missing.' })),
  },
  strict,
);

export const ApplicationInstanceSpec = Type.Object(
  {
    catalogEntry: Type.String({ ...EntryName, description: 'The catalog entry that is installed.' }),
    chart: ApplicationChart,
    releaseName: Type.Optional(
      Type.String({ ...ObjectName, description: 'The name of the Helm release (default: the name of this object).' }),
    ),
    targetNamespace: Type.Optional(
      label('Install into this namespace instead of the own one; it must be allowed for the cluster.'),
    ),
    values: Type.Optional(freeForm('Chart values.')),
    sealedValues: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 524_288,
        description:
          "Secret chart values as compact JWE to the cluster's key, bound to this cluster, namespace and name.",
      }),
    ),
    valuesFrom: Type.Optional(
      Type.Array(ValuesReference, { maxItems: 32, description: 'More values, merged in order below spec.values.' }),
    ),
    dependsOn: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String({ ...ObjectName, description: 'An ApplicationInstance.' }),
            namespace: Type.Optional(label('Its namespace (default: the own one).')),
          },
          strict,
        ),
        { maxItems: 32, description: 'Instances that must be Ready before this one is installed or upgraded.' },
      ),
    ),
    upgrade: Type.Optional(
      Type.Object(
        {
          timeout: Type.Optional(
            Type.String({ pattern: DURATION_PATTERN, maxLength: 32, description: 'Time for one try, such as 5m.' }),
          ),
          retries: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, description: 'Tries after the first.' })),
          remediation: Type.Optional(
            oneOf(['rollback', 'uninstall', 'none'], { description: 'What happens after the last failed try.' }),
          ),
        },
        { ...strict, description: 'How an upgrade is tried and what happens when it fails.' },
      ),
    ),
    driftDetection: Type.Optional(
      oneOf(['enabled', 'warn', 'disabled'], {
        description: 'Correct, only report, or ignore changes made by others.',
      }),
    ),
    suspend: Type.Optional(Type.Boolean({ description: 'Stop reconciling this instance; what runs keeps running.' })),
    deletionPolicy: Type.Optional(
      oneOf(['Delete', 'Orphan'], {
        description: 'What becomes of the release when this object is deleted on purpose.',
      }),
    ),
  },
  { ...strict, description: 'The application that should be installed.' },
);
export type ApplicationInstanceSpec = Static<typeof ApplicationInstanceSpec>;

export const ApplicationInstanceStatus = Type.Object(
  {
    observedGeneration: Type.Optional(ObservedGeneration),
    conditions: Type.Optional(Conditions),
    source: Type.Optional(StatusSource),
    release: Type.Optional(
      Type.Object(
        {
          chartVersion: Type.Optional(Type.String({ maxLength: 128, description: 'Chart version of the release.' })),
          appVersion: Type.Optional(Type.String({ maxLength: 256, description: 'Version of the app in the chart.' })),
          revision: Type.Optional(Type.Integer({ minimum: 0, description: 'Helm revision.' })),
        },
        { description: 'The Helm release as it was last seen.' },
      ),
    ),
  },
  { description: 'What was last observed.' },
);
export type ApplicationInstanceStatus = Static<typeof ApplicationInstanceStatus>;

export interface ApplicationInstance extends KubeObject {
  spec: ApplicationInstanceSpec;
  status?: ApplicationInstanceStatus;
}

export const APPLICATION_INSTANCE_KIND = 'ApplicationInstance';
