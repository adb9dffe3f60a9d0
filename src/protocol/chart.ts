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

/** What an address of a chart may not hold: whoever reads the catalog, and every cluster, would read a credential in it. */
export function chartUrlFault(url: string): string | undefined {
  const [, authority = '', rest = ''] = /^[a-z]+:[/\\]*([^/\\?#]*)(.*)$/i.exec(url) ?? [];
  if (authority.includes('@')) return 'must hold no user name or password';
  if (/[?#]/.test(rest)) return 'must hold no query and no fragment: neither is part of where a chart is';
  return undefined;
}

/** A chart that was stored with a credential in its address, without it. */
export function withoutCredentials(chart: ChartSource): ChartSource {
  if (chartUrlFault(chart.url) === undefined) return chart;
  return { ...chart, url: chart.url.replace(/[?#].*$/, '').replace(/^([a-z]+:[/\\]*)[^/\\]*@/i, '$1') };
}
