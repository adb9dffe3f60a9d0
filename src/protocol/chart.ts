import { Type, type Static } from 'typebox';

/** Where a chart is: an OCI registry (`oci://host/path/<name>`, `url` holds all of it) or a Helm repository (`https://…`). */
export const ChartSource = Type.Object({
  type: Type.Unsafe<'oci' | 'helm'>({
    type: 'string',
    enum: ['oci', 'helm'],
    description: 'An OCI registry or a Helm repository.',
  }),
  url: Type.String({
    minLength: 1,
    maxLength: 1024,
    pattern: '^(oci|https?)://[^\\s]+$',
    description: 'an oci://, https:// or http:// address',
  }),
  name: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: '^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$',
    description: 'the name of a chart: lower-case letters, digits, dots, - and _',
  }),
});
export type ChartSource = Static<typeof ChartSource>;
