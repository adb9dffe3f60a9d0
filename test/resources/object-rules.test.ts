import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { brokenRule, type ObjectRule } from '../../src/resources/object-rule.ts';
import { customResourceDefinition } from '../../src/resources/crd.ts';
import { RESOURCE_DEFINITIONS } from '../../src/resources/resource-definitions.ts';
import { RULE_CASES } from './rule-cases.ts';

function rulesOf(kind: string): readonly ObjectRule<KubeObject>[] {
  const definition = RESOURCE_DEFINITIONS.find((candidate) => candidate.kind === kind);
  return (definition?.rules ?? []) as unknown as readonly ObjectRule<KubeObject>[];
}

describe('rules that a schema cannot say', () => {
  it.each(RULE_CASES)('judge $title', ({ before, after, broken }) => {
    expect(brokenRule(rulesOf(after.kind), after, before)?.name).toBe(broken);
  });

  it('are each broken by some case and kept by another of the same kind', () => {
    const all = RESOURCE_DEFINITIONS.flatMap(({ kind }) => rulesOf(kind).map(({ name }) => name));
    const broken = new Set(RULE_CASES.map((ruleCase) => ruleCase.broken));
    expect(all.filter((name) => !broken.has(name))).toEqual([]);
    const kept = new Set(RULE_CASES.filter((ruleCase) => !ruleCase.broken).map(({ after }) => after.kind));
    expect([...kept].toSorted()).toEqual(['ApplicationInstance', 'Cluster', 'Operation']);
  });

  it('say what is wrong and what to do instead, in at most 2,048 characters, which is what the API server takes', () => {
    const messages = RESOURCE_DEFINITIONS.flatMap(({ kind }) => rulesOf(kind).map(({ message }) => message));
    expect(
      messages.filter((message) => message.length < 30 || message.length > 2048 || /[\r\n]/.test(message)),
    ).toEqual([]);
  });

  it('stand in the schema where they say, in the definitions with CEL alone', () => {
    for (const definition of RESOURCE_DEFINITIONS) {
      const cel = definition.rules.flatMap((rule) => (rule.cel === undefined ? [] : [rule.cel]));
      const withRules = JSON.stringify(customResourceDefinition(definition, { cel: true }));
      for (const rule of cel) expect(withRules).toContain(JSON.stringify(rule));
      expect(withRules.match(/"rule":/g)).toHaveLength(cel.length);
      expect(JSON.stringify(customResourceDefinition(definition))).not.toContain('x-kubernetes-validations');
    }
  });

  it('refuse a place that the schema does not have', () => {
    const [definition] = RESOURCE_DEFINITIONS;
    const lost = { at: 'spec.chart.colour', cel: 'true', message: 'never' };
    expect(() => customResourceDefinition({ ...definition!, rules: [lost] }, { cel: true })).toThrow(
      'a rule stands at spec.chart.colour, which the schema does not have',
    );
  });
});
