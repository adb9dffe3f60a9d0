import type { KubeObject } from '../../../src/resources/kube-object.ts';
import type { ModeWorld } from './mode-world.ts';

const KINDS = [
  { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' },
  { apiVersion: 'source.toolkit.fluxcd.io/v1', kind: 'OCIRepository' },
  { apiVersion: 'v1', kind: 'Secret' },
] as const;

/** What the operator has made of an application. */
export interface MadeObject {
  readonly kind: (typeof KINDS)[number]['kind'];
  /** Of the application. */
  readonly app: string;
}

/** What was made of applications by the names that they have in these worlds, and is there. */
export async function madeObjects(world: ModeWorld): Promise<readonly MadeObject[]> {
  const of = KINDS.map(async ({ apiVersion, kind }) => {
    const { items } = await world.cluster.cluster.api.list<KubeObject>({ apiVersion, kind }, { namespace: 'shop' });
    return items.flatMap(({ metadata }) => {
      const [app] = /^app-\d+(?=$|-sealed-values$)/.exec(metadata.name) ?? [];
      return app === undefined ? [] : [{ kind, app }];
    });
  });
  return (await Promise.all(of)).flat();
}
