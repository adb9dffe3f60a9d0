import { describe, expect, it } from 'vitest';
import { Dependents, missingDependencies } from '../../../src/reconcile/application-instance/dependencies.ts';
import type { ApplicationInstance } from '../../../src/resources/application-instance.ts';
import { anInstance } from '../manifests.ts';

function other(status: 'True' | 'False', observedGeneration = 2): ApplicationInstance {
  const ready = { type: 'Ready', status, reason: 'SourceUnavailable', message: 'x'.repeat(300) };
  const made = anInstance({ name: 'db' });
  made.metadata.generation = 2;
  made.status = { observedGeneration, conditions: [{ ...ready, lastTransitionTime: '2026-01-01T00:00:00Z' }] };
  return made;
}

describe('missingDependencies', () => {
  const web = anInstance({
    name: 'web',
    spec: { dependsOn: [{ name: 'db' }, { name: 'cache', namespace: 'blog' }, { name: 'dns' }] },
  });

  it('names each that is missing, and what it lacks', () => {
    const seen = new Map([
      ['shop/db', other('False')],
      ['blog/cache', other('True', 1)],
    ]);
    const cut = `${'x'.repeat(199)}…`;
    expect(missingDependencies(web, (namespace, name) => seen.get(`${namespace}/${name}`))).toBe(
      `waits for what it depends on: ApplicationInstance shop/db is not Ready: SourceUnavailable (${cut}); ` +
        'ApplicationInstance blog/cache was changed and is on its way; ApplicationInstance shop/dns is not there',
    );
  });

  it('has nothing to say when all are Ready, or none is named', () => {
    expect(missingDependencies(web, () => other('True'))).toBeUndefined();
    expect(missingDependencies(anInstance(), () => undefined)).toBeUndefined();
    expect(missingDependencies(web, () => anInstance())).toMatch(/shop\/db has no status yet/);
  });
});

describe('Dependents', () => {
  it('know who waits for whom, as it is now', () => {
    const dependents = new Dependents();
    const db = anInstance({ name: 'db' });
    const web = anInstance({ name: 'web', spec: { dependsOn: [{ name: 'db' }] } });
    dependents.note(web, false);
    dependents.note(anInstance({ name: 'api', spec: { dependsOn: [{ name: 'db', namespace: 'shop' }] } }), false);
    expect(dependents.of(db)).toEqual(['shop/web', 'shop/api']);
    dependents.note(anInstance({ name: 'web' }), false);
    expect(dependents.of(db)).toEqual(['shop/api']);
    dependents.note(anInstance({ name: 'api' }), true);
    expect(dependents.of(db)).toEqual([]);
  });
});
