import type { DeliveryItem } from '../../delivery.ts';
import { chartVersionOf, type ManifestFacts } from './manifest-facts.ts';

/**
 * First line of an intent's commit, for the person who reviews: what changes, where, from which version to which.
 *
 * @param replaced the manifest that the commit replaces or removes; `undefined` when there was none
 */
export function commitSubject(rendered: DeliveryItem, replaced: ManifestFacts | undefined): string {
  const { intent, target } = rendered;
  const object = `${intent.namespace}/${intent.name}`;
  const version = chartVersionOf(rendered);
  const described = version === undefined ? object : `${object} ${version}`;
  const say = (what: string): string => `${target.slug}: ${what}`;
  if (rendered.isHandover === true) {
    const what = rendered.kind === 'delete' ? `the uninstall of ${object}` : handedOver(rendered, described);
    return say(`hand over ${what} (epoch ${target.deliveryEpoch})`);
  }
  if (rendered.kind === 'delete') return say(`uninstall ${object}`);
  if (rendered.object.kind === 'Operation') {
    const template = intent.operationTemplate ?? 'operation';
    return say(replaced === undefined ? `run ${template} on ${object}` : `change ${template} on ${object}`);
  }
  if (replaced === undefined) return say(`install ${described}`);
  // The same intent once more: somebody has changed or damaged what it wrote.
  if (replaced.intentId === intent.id) return say(`restore ${described}`);
  if (replaced.chartVersion === undefined || version === undefined) return say(`update ${described}`);
  if (replaced.chartVersion === version) return say(`update ${described} (values)`);
  return say(`update ${object} ${replaced.chartVersion} → ${version}`);
}

function handedOver({ intent }: DeliveryItem, described: string): string {
  return intent.operationTemplate === undefined ? described : `${intent.operationTemplate} on ${described}`;
}
