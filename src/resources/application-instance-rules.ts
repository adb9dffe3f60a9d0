import type { ApplicationInstance } from './application-instance.ts';
import type { ObjectRule } from './object-rule.ts';

type Rule = ObjectRule<Pick<ApplicationInstance, 'metadata' | 'spec'>>;

/** A `helm` chart's other half, `https?://`, stands in the pattern of the field. */
export const chartUrlDoesNotFitType: Rule = {
  name: 'chartUrlDoesNotFitType',
  at: 'spec.chart',
  cel: "(self.type == 'oci') == self.url.startsWith('oci://')",
  message: 'url must begin with oci:// for type oci, and with https:// or http:// for type helm',
  isBroken: ({ spec: { chart } }) => (chart.type === 'oci') !== chart.url.startsWith('oci://'),
};

/** Flux would uninstall the release of the old name, and its data with it. */
export const releaseNameIsChanged: Rule = {
  name: 'releaseNameIsChanged',
  at: 'spec',
  cel: isUnchanged('releaseName'),
  message:
    'releaseName cannot be changed: that would be another Helm release, and the present one would be uninstalled; ' +
    'uninstall this instance, or make a second one with the other name',
  isBroken: (after, before) => before !== undefined && after.spec.releaseName !== before.spec.releaseName,
};

export const targetNamespaceIsChanged: Rule = {
  name: 'targetNamespaceIsChanged',
  at: 'spec',
  cel: isUnchanged('targetNamespace'),
  message:
    'targetNamespace cannot be changed: a Helm release does not move, it would be uninstalled where it is; ' +
    'uninstall this instance, or make a second one for the other namespace',
  isBroken: (after, before) => before !== undefined && after.spec.targetNamespace !== before.spec.targetNamespace,
};

/** CEL knows an object's name, not its namespace: an entry that spells its own namespace out is found by our code alone. */
export const instanceDependsOnItself: Rule = {
  name: 'instanceDependsOnItself',
  at: '',
  cel: '!has(self.spec.dependsOn) || self.spec.dependsOn.all(other, other.name != self.metadata.name || has(other.namespace))',
  message: 'dependsOn must not name the instance itself: it would wait for itself for ever; take that entry out',
  isBroken: ({ metadata, spec }) =>
    (spec.dependsOn ?? []).some(
      ({ name, namespace = metadata.namespace }) => name === metadata.name && namespace === metadata.namespace,
    ),
};

/** Flux would take it and do nothing with it, and whoever wrote it believes that something is left alone. */
export const driftIgnoreHasNoEffect: Rule = {
  name: 'driftIgnoreHasNoEffect',
  at: 'spec',
  cel: "!has(self.driftIgnore) || size(self.driftIgnore) == 0 || (has(self.driftDetection) && self.driftDetection != 'disabled')",
  message:
    'driftIgnore has an effect only where driftDetection is enabled or warn; set one of the two, or take driftIgnore out ([] in an intent)',
  isBroken: ({ spec: { driftIgnore = [], driftDetection = 'disabled' } }) =>
    driftIgnore.length > 0 && driftDetection === 'disabled',
};

export const APPLICATION_INSTANCE_RULES: readonly Rule[] = [
  chartUrlDoesNotFitType,
  releaseNameIsChanged,
  targetNamespaceIsChanged,
  instanceDependsOnItself,
  driftIgnoreHasNoEffect,
];

/** CEL for an optional member that is the same as before, absent included. */
function isUnchanged(member: string): string {
  return `has(self.${member}) == has(oldSelf.${member}) && (!has(self.${member}) || self.${member} == oldSelf.${member})`;
}
