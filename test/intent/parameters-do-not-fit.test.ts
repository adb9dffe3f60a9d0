import { describe, expect, it } from 'vitest';
import { judgeParameters } from '../../src/control-plane/judge-parameters.ts';
import type { IntentRequest } from '../../src/intent/intent-request.ts';
import { parametersDoNotFit } from '../../src/intent/policy/parameters-do-not-fit.ts';

const operate = (rest: Partial<IntentRequest>): IntentRequest => ({
  action: 'operate',
  namespace: 'shop',
  name: 'a',
  ...rest,
});
const judged = (intent: IntentRequest, allowed: readonly string[], names: readonly string[] = []) =>
  parametersDoNotFit(intent, {
    allowedNamespaces: ['shop'],
    allowedCatalogEntries: [],
    allowedOperationTemplates: allowed,
    templates: judgeParameters(intent, undefined, names),
  });

describe('the parameters of an operation', () => {
  it('are told every fault at once, each with its place', () => {
    const parameters = { replicas: -1, nme: 'web', kind: 'Pod' };
    const faults = judged(operate({ operationTemplate: 'scale', parameters }), ['scale']);
    expect(faults.map(({ code, path, message }) => `${code} ${path} ${message}`)).toEqual([
      'constraint_violated /parameters/nme is not known; the known fields are kind, name, replicas',
      'constraint_violated /parameters/kind must be one of Deployment, StatefulSet, DaemonSet',
      'constraint_violated /parameters/replicas must be from 0 to 10000',
      'constraint_violated /parameters/name is required, or a targetRef',
    ]);
  });

  it('go with a target of the kinds that the template works on', () => {
    const scale = { operationTemplate: 'scale', parameters: { replicas: 1 } };
    const target = (kind: string) => operate({ ...scale, targetRef: { kind, name: 'web' } });
    expect(judged(target('Deployment'), ['scale'])).toEqual([]);
    expect(judged(target('Service'), ['scale'])).toMatchObject([
      { path: '/targetRef', message: expect.stringContaining('works on Deployment, StatefulSet, DaemonSet') },
    ]);
    const backup = operate({ operationTemplate: 'velero-backup', targetRef: { kind: 'Deployment', name: 'web' } });
    expect(judged(backup, ['velero-backup'])).toMatchObject([
      { path: '/targetRef', message: expect.stringContaining('takes no targetRef') },
    ]);
  });

  it('of a template that is not there are not looked at; those that are there are listed', () => {
    const faults = judged(
      operate({ operationTemplate: 'migrate', parameters: { a: 1 } }),
      ['migrate'],
      ['scale', 'vacuum'],
    );
    expect(faults).toMatchObject([
      {
        path: '/operationTemplate',
        message: expect.stringContaining('allowed: scale, vacuum'),
        allowed: ['scale', 'vacuum'],
      },
    ]);
  });

  it('of a template that is not allowed are nobody’s business', () => {
    expect(judged(operate({ operationTemplate: 'migrate' }), ['scale'])).toEqual([]);
  });
});
