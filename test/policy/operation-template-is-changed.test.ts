import { expect, it } from 'vitest';
import { definitionHash } from '../../src/operation-templates/definition-hash.ts';
import { operationTemplateIsChanged } from '../../src/policy/operation-template-is-changed.ts';
import { aPolicy } from '../reconcile/manifests.ts';
import { anOperation } from './signed-approval.ts';

const definition = { name: 'migrate', run: { template: 'run-job', parameters: { image: 'shop/migrate:7' } } };
const policy = aPolicy({ operationTemplates: ['migrate'], templateDefinitions: [definition] });
const judge = (templateHash: string | undefined, template = 'migrate') =>
  operationTemplateIsChanged(anOperation({ template, ...(templateHash === undefined ? {} : { templateHash }) }), {
    policy,
  });

it('an operation whose template does something else by now is refused', () => {
  const other = definitionHash({ ...definition, run: { template: 'run-job', parameters: { image: 'evil' } } });
  expect(judge(other)).toMatchObject([
    { reason: 'TemplateChanged', message: expect.stringContaining('operation template migrate was changed since') },
  ]);
});

it('one whose template is as it was is not, nor one that says no hash or whose template is not there', () => {
  expect(judge(definitionHash({ ...definition, deadlineSeconds: 5 }))).toEqual([]);
  expect(judge(undefined)).toEqual([]);
  expect(judge(definitionHash(definition), 'gone')).toEqual([]);
});
