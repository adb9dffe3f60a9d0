import { expect, it } from 'vitest';
import { GROUP, type ContractContext } from './contract-context.ts';
import { causesOf, type HttpAnswer, type Json } from './kube-http.ts';

const invalid = (field: string, message: string): Json => ({ reason: 'FieldValueInvalid', message, field });
const QUALIFIED =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/** What metadata may hold, and what nobody but the server changes. */
export function describeMetadata(context: () => ContractContext): void {
  async function tried(metadata: Json): Promise<HttpAnswer[]> {
    const { http, widgets, configMaps } = context();
    const widget = { apiVersion: `${GROUP}/v1`, kind: 'Widget', metadata };
    return [
      await http.post(`${widgets()}?dryRun=All`, widget),
      await http.post(`${configMaps()}?dryRun=All`, { metadata }),
    ];
  }

  async function refusals(metadata: Json): Promise<unknown[]> {
    return (await tried({ name: 'x', ...metadata })).map((answer) => [answer.status, causesOf(answer)]);
  }

  const twice = (...causes: Json[]): unknown[] => [
    [422, causes],
    [422, causes],
  ];

  it('refuses labels and annotations whose keys or values break the rules', async () => {
    expect(await refusals({ labels: { 'bad key!': 'v' } })).toEqual(
      twice(invalid('metadata.labels', `Invalid value: "bad key!": name part ${QUALIFIED}`)),
    );
    expect(await refusals({ labels: { 'a/b/c': 'v' } })).toEqual(
      twice(
        invalid(
          'metadata.labels',
          `Invalid value: "a/b/c": a qualified name ${QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
        ),
      ),
    );
    const long = 'x'.repeat(64);
    expect(await refusals({ labels: { a: long } })).toEqual(
      twice(invalid('metadata.labels', `Invalid value: "${long}": must be no more than 63 characters`)),
    );
    expect(await refusals({ annotations: { 'bad key!': 'v' } })).toEqual(
      twice(invalid('metadata.annotations', `Invalid value: "bad key!": name part ${QUALIFIED}`)),
    );
    const [big] = await tried({ name: 'x', annotations: { big: 'x'.repeat(256 * 1024 + 1) } });
    expect(big?.body['details']['causes']).toMatchObject([
      { reason: 'FieldValueTooLong', field: 'metadata.annotations' },
    ]);
  });

  it('refuses owner references that are not whole, are Events, or name two controllers', async () => {
    const empty = { apiVersion: '', kind: '', name: '', uid: '' };
    const missing = (field: string, what = field): Json =>
      invalid(`metadata.ownerReferences.${field}`, `Invalid value: "": ${what} must not be empty`);
    expect(await refusals({ ownerReferences: [empty] })).toEqual(
      twice(missing('apiVersion', 'version'), missing('kind'), missing('name'), missing('uid')),
    );
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'u' };
    const event = await refusals({ ownerReferences: [{ ...owner, kind: 'Event' }] });
    const refused = (message: RegExp): unknown =>
      twice({
        reason: 'FieldValueInvalid',
        message: expect.stringMatching(message),
        field: 'metadata.ownerReferences',
      });
    expect(event).toEqual(refused(/: \/v1, Kind=Event is disallowed from being an owner$/));
    const both = [
      { ...owner, controller: true },
      { ...owner, name: 'b', uid: 'v', controller: true },
    ];
    expect(await refusals({ ownerReferences: both })).toEqual(
      refused(/: Only one reference can have Controller set to true/),
    );
  });

  it('takes a finalizer without a domain on custom kinds only', async () => {
    const answers = await tried({ name: 'x', finalizers: ['short'] });
    expect(answers.map((answer) => [answer.status, causesOf(answer)])).toEqual([
      [201, []],
      [
        422,
        [
          invalid(
            'metadata.finalizers[0]',
            'Invalid value: "short": name is neither a standard finalizer name nor is it fully qualified',
          ),
        ],
      ],
    ]);
  });

  it('checks what a name is made from as well as the name', async () => {
    const answers = await tried({ generateName: 'Bad_' });
    for (const answer of answers) {
      expect(causesOf(answer).map(({ field }) => String(field))).toEqual(['metadata.generateName', 'metadata.name']);
    }
  });

  it('ignores what a creator says of the server’s own fields, and what no metadata has', async () => {
    const claimed = {
      name: 'claimed',
      uid: 'mine',
      creationTimestamp: '2020-01-01T00:00:00Z',
      deletionTimestamp: '2020-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 5,
      selfLink: '/mine',
      generation: 7,
      invented: 'field',
    };
    const [custom] = await tried(claimed);
    expect(custom?.status).toBe(201);
    const { metadata } = custom?.body ?? {};
    const { managedFields: _, ...rest } = metadata as Json;
    expect(Object.keys(rest).toSorted()).toEqual(['creationTimestamp', 'generation', 'name', 'namespace', 'uid']);
    expect([metadata['generation'], metadata['uid'] === 'mine']).toEqual([1, false]);
    expect(metadata['creationTimestamp']).not.toBe(claimed.creationTimestamp);
  });

  it('keeps identity and age over every write, and refuses an invented deletion', async () => {
    const { http, widgets, widget } = context();
    const { body } = await http.post(widgets(), widget('steady', { spec: { size: 1 } }));
    const path = widgets('steady');
    const aged = await http.patch(path, 'merge', {
      metadata: { creationTimestamp: '2020-01-01T00:00:00Z', generation: 9 },
    });
    expect(aged.body).toEqual(body);
    const other = await http.patch(path, 'merge', { metadata: { uid: 'other' } });
    expect([other.status, causesOf(other)]).toEqual([
      422,
      [invalid('metadata.uid', 'Invalid value: "other": field is immutable')],
    ]);
    const put = await http.put(path, { ...body, metadata: { ...body['metadata'], uid: 'other' } });
    expect([put.status, put.body['reason']]).toEqual([409, 'Conflict']);
    expect(put.body['message']).toMatch(
      /Precondition failed: UID in precondition: other, UID in object meta: [0-9a-f-]{36}$/,
    );
    const deleted = await http.patch(path, 'merge', { metadata: { deletionTimestamp: '2020-01-01T00:00:00Z' } });
    expect([deleted.status, causesOf(deleted).map(({ field }) => String(field))]).toEqual([
      422,
      ['metadata.deletionTimestamp'],
    ]);
    const labelled = await http.patch(path, 'merge', { metadata: { labels: { a: 'not ok' } } });
    expect([labelled.status, causesOf(labelled).map(({ field }) => String(field))]).toEqual([422, ['metadata.labels']]);
    expect((await http.get(path)).body).toEqual(body);
  });
}
