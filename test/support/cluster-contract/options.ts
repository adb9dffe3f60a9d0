import { expect, it } from 'vitest';
import type { ContractContext } from './contract-context.ts';
import { causesOf, type Json } from './kube-http.ts';

/** The options of writes and deletes: dry-run, preconditions, policies, managers. */
export function describeOptions(context: () => ContractContext): void {
  it('tries every kind of write without keeping it', async () => {
    const { http, widgets, widget } = context();
    const { body } = await http.post(widgets(), widget('tried', { spec: { size: 1 } }));
    const path = `${widgets('tried')}?dryRun=All`;
    const patched = await http.patch(path, 'merge', { spec: { size: 2 } });
    expect([patched.body['spec'], patched.body['metadata']['generation']]).toEqual([{ size: 2 }, 2]);
    expect((await http.put(path, { ...body, spec: { size: 3 } })).body['spec']).toEqual({ size: 3 });
    const applied = await http.apply(
      widgets('tried'),
      'dry',
      widget('tried', { spec: { color: 'red' } }),
      '&dryRun=All',
    );
    expect([applied.status, applied.body['spec']]).toEqual([200, { size: 1, color: 'red' }]);
    const created = await http.apply(widgets('untried'), 'dry', widget('untried'), '&dryRun=All');
    expect([created.status, (await http.get(widgets('untried'))).status]).toEqual([201, 404]);
    expect(await http.delete(path)).toMatchObject({ status: 200, body: { status: 'Success' } });
    expect(await http.delete(widgets('tried'), { dryRun: ['All'] })).toMatchObject({ body: { status: 'Success' } });
    expect((await http.get(widgets('tried'))).body).toEqual(body);
    const again = await http.post(`${widgets()}?dryRun=All`, widget('tried'));
    expect([again.status, again.body['reason']]).toEqual([409, 'AlreadyExists']);
    const clash = await http.apply(widgets('tried'), 'dry', widget('tried', { spec: { size: 9 } }), '&dryRun=All');
    expect(clash).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
  });

  it('refuses a dry run of any other kind', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('wet'));
    const answers = [
      await http.post(`${widgets()}?dryRun=Some`, widget('never')),
      await http.patch(`${widgets('wet')}?dryRun=Some`, 'merge', {}),
      await http.delete(`${widgets('wet')}?dryRun=Some`),
    ];
    const cause = {
      reason: 'FieldValueNotSupported',
      message: 'Unsupported value: []string{"Some"}: supported values: "All"',
      field: 'dryRun',
    };
    expect(answers.map((answer) => [answer.status, answer.body['details']['kind'], causesOf(answer)])).toEqual([
      [422, 'CreateOptions', [cause]],
      [422, 'PatchOptions', [cause]],
      [422, 'DeleteOptions', [cause]],
    ]);
  });

  it('refuses a field manager that is too long or cannot be printed', async () => {
    const { http, widgets, widget } = context();
    const long = await http.post(`${widgets()}?fieldManager=${'x'.repeat(129)}`, widget('managed'));
    expect([long.status, causesOf(long)]).toMatchObject([
      422,
      [{ reason: 'FieldValueTooLong', field: 'fieldManager' }],
    ]);
    const bell = await http.post(`${widgets()}?fieldManager=a%07`, widget('managed'));
    expect([bell.status, causesOf(bell)]).toMatchObject([
      422,
      [{ message: expect.stringContaining('invalid character U+0007 (at position 1)'), field: 'fieldManager' }],
    ]);
  });

  it('refuses policies of deletion that it does not know or that contradict each other', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('kept'));
    const unknown = await http.delete(widgets('kept'), { propagationPolicy: 'Whatever' });
    const both = await http.delete(widgets('kept'), { propagationPolicy: 'Orphan', orphanDependents: true });
    const cause = (reason: string, message: unknown): Json => ({ reason, message, field: 'propagationPolicy' });
    expect([unknown, both].map((answer) => [answer.status, causesOf(answer)])).toEqual([
      [422, [cause('FieldValueNotSupported', expect.stringMatching(/^Unsupported value: "Whatever"/))]],
      [
        422,
        [
          cause(
            'FieldValueInvalid',
            'Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
          ),
        ],
      ],
    ]);
    expect((await http.get(widgets('kept'))).status).toBe(200);
  });

  it('says which precondition of a deletion is not met', async () => {
    const { http, widgets, configMaps, widget } = context();
    const { body } = await http.post(widgets(), widget('exact'));
    await http.post(configMaps(), { metadata: { name: 'exact' } });
    const { uid, resourceVersion } = body['metadata'] as Json;
    const refused = [
      await http.delete(widgets('exact'), { preconditions: { uid: 'another' } }),
      await http.delete(widgets('exact'), { preconditions: { uid, resourceVersion: '1' } }),
      await http.delete(configMaps('exact'), { preconditions: { uid: 'another' } }),
    ];
    expect(refused.map((answer) => [answer.status, answer.body['reason'], answer.body['details']['kind']])).toEqual([
      [409, 'Conflict', 'Widget'],
      [409, 'Conflict', 'Widget'],
      [409, 'Conflict', 'ConfigMap'],
    ]);
    const start = 'Operation cannot be fulfilled on Widget.contract.example.com "exact": the';
    expect(refused.slice(0, 2).map((answer) => String(answer.body['message']))).toEqual([
      `${start} UID in the precondition (another) does not match the UID in record (${String(uid)}). The object might have been deleted and then recreated`,
      `${start} ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${String(resourceVersion)}). The object might have been modified`,
    ]);
    const gone = await http.delete(widgets('exact'), { preconditions: { uid, resourceVersion } });
    expect([gone.status, (await http.get(widgets('exact'))).status]).toEqual([200, 404]);
  });
}
