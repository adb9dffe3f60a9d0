import { Type, type Static } from 'typebox';
import { ChartSource } from '../protocol/chart.ts';
import { EntryName, SemverVersion } from '../protocol/names.ts';
import { INSTANCE_OPTIONS } from './instance-options.ts';
import type { KubeObject } from './kube-object.ts';
import { Conditions, freeForm, ObservedGeneration, oneOf, StatusSource, subdomain } from './spec-parts.ts';

const strict = { additionalProperties: false } as const;

/** Which chart, from where, in which version. It must equal the catalog entry that is projected to the cluster. */
export const ApplicationChart = Type.Object(
  {
    type: oneOf(['oci', 'helm'], {
      description: 'Where the chart is kept: oci is a registry, helm is a classic repository with an index.yaml.',
    }),
    url: Type.String({
      ...ChartSource.properties.url,
      description:
        'For oci the whole address of the chart, such as oci://ghcr.io/stefanprodan/charts/podinfo; for helm the address ' +
        'of the repository, such as https://stefanprodan.github.io/podinfo.',
    }),
    name: Type.String({
      ...ChartSource.properties.name,
      description: 'Name of the chart in its registry or repository, such as podinfo.',
    }),
    version: Type.String({
      ...SemverVersion,
      description:
        'Exact version of the chart, such as 6.5.0; not a range and without a leading v. The catalog entry says which are allowed.',
    }),
    secretRef: Type.Optional(
      Type.Object(
        { name: subdomain('Name of a Secret in the same namespace, in the form that Flux expects.') },
        { ...strict, description: 'Secret with the credentials that Flux pulls the chart with (default: none).' },
      ),
    ),
  },
  {
    ...strict,
    description:
      "The chart and its exact version. Type, url and name must equal the cluster's catalog entry, and the version lie in its range.",
  },
);
export type ApplicationChart = Static<typeof ApplicationChart>;

export const ValuesReference = Type.Object(
  {
    kind: oneOf(['ConfigMap', 'Secret'], { description: 'What kind of object holds the values.' }),
    name: subdomain('Name of that object, in the same namespace.'),
    valuesKey: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        description: 'Key whose value is read (default: values.yaml).',
      }),
    ),
    targetPath: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 250,
        description:
          'Dotted path to put the single value at, such as image.tag (default: the key holds a whole values file).',
      }),
    ),
    optional: Type.Optional(
      Type.Boolean({
        description: 'Go on without the object or the key when it is missing (default: false, wait for it).',
      }),
    ),
  },
  { ...strict, description: 'One source of values.' },
);

export const ApplicationInstanceSpec = Type.Object(
  {
    catalogEntry: Type.String({
      ...EntryName,
      description: 'Catalog entry that is installed; it must be one of those in the status of the Cluster.',
    }),
    chart: ApplicationChart,
    values: Type.Optional(
      freeForm('Values for the chart, of any shape, as in a values.yaml. Nothing secret belongs here.'),
    ),
    sealedValues: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 524_288,
        description:
          "Secret chart values as compact JWE to the cluster's key, bound to this cluster, namespace and name. They are opened " +
          'into the Secret NAME-sealed-values, and win over values and valuesFrom.',
      }),
    ),
    valuesFrom: Type.Optional(
      Type.Array(ValuesReference, {
        maxItems: 32,
        description:
          'More values out of ConfigMaps and Secrets, merged in this order; spec.values is merged over them.',
      }),
    ),
    ...INSTANCE_OPTIONS,
  },
  {
    ...strict,
    description: 'The application that should be installed: which chart, in which version, with which values.',
  },
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
          chartVersion: Type.Optional(
            Type.String({ maxLength: 128, description: 'Version of the chart that is installed.' }),
          ),
          appVersion: Type.Optional(
            Type.String({
              maxLength: 256,
              description: 'Version of the application as its chart gives it (appVersion).',
            }),
          ),
          revision: Type.Optional(
            Type.Integer({
              minimum: 0,
              description:
                'Revision of the release as Helm counts it; grows by one with each install, upgrade and rollback.',
            }),
          ),
        },
        { description: 'The Helm release as it was last seen.' },
      ),
    ),
    releasedSpec: Type.Optional(
      Type.String({
        maxLength: 192,
        description:
          'Hash of the spec that was last released and the proof that the operator wrote it; that spec needs no approval any more.',
      }),
    ),
  },
  { description: 'What was last observed of the application; written by the operator alone.' },
);
export type ApplicationInstanceStatus = Static<typeof ApplicationInstanceStatus>;

export interface ApplicationInstance extends KubeObject {
  spec: ApplicationInstanceSpec;
  status?: ApplicationInstanceStatus;
}

export const APPLICATION_INSTANCE_KIND = 'ApplicationInstance';
