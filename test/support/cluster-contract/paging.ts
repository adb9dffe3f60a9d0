import { beforeAll, expect, it } from 'vitest';
import type { ContractContext } from './contract-context.ts';
import { causesOf, type HttpAnswer, type Json } from './kube-http.ts';

function names(answer: HttpAnswer): string[] {
  return ((answer.body['items'] ?? []) as Json[]).map((item) => String(item['metadata']['name']));
}

/** The continue token; lists of custom kinds carry an empty one at their end. */
function more(answer: HttpAnswer): string {
  return String(answer.body['metadata']['continue'] ?? '');
}

/** Pages, revisions of a list, and what becomes of old tokens (KEP-365, KEP-1904). */
export function describePaging(context: () => ContractContext): void {
  const chosen = 'labelSelector=set%3Dpaged';
  let revision: string;

  async function list(query: string): Promise<HttpAnswer> {
    const { http, widgets } = context();
    return http.get(`${widgets()}?${chosen}&${query}`);
  }

  function tokenOf(answer: HttpAnswer): string {
    return encodeURIComponent(more(answer));
  }

  beforeAll(async () => {
    const { http, widgets, widget } = context();
    for (const name of ['p0', 'p1', 'p2', 'p3', 'p4']) {
      await http.post(widgets(), widget(name, { metadata: { labels: { set: 'paged' } } }));
    }
    revision = String((await list('')).body['metadata']['resourceVersion']);
  });

  it('takes a limit of 0 and none for the whole list, and a large one for a page that holds it', async () => {
    for (const query of ['limit=9', 'limit=0', '']) {
      const answer = await list(query);
      expect([names(answer), more(answer)]).toEqual([['p0', 'p1', 'p2', 'p3', 'p4'], '']);
    }
    expect((await list('limit=x')).status).toBe(400);
  });

  it('may end a selective list with an empty page, since what follows is looked at only then', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('p6', { metadata: { labels: { set: 'other' } } }));
    const full = await list('limit=5');
    expect(names(full)).toEqual(['p0', 'p1', 'p2', 'p3', 'p4']);
    const rest = await list(`limit=5&continue=${tokenOf(full)}`);
    expect([rest.status, names(rest), more(rest)]).toEqual([200, [], '']);
    await http.delete(widgets('p6'));
  });

  it('gives the rest after a page when no limit is given with the token', async () => {
    expect(names(await list(`continue=${tokenOf(await list('limit=2'))}`))).toEqual(['p2', 'p3', 'p4']);
  });

  it('refuses a continue token that is none, and one together with a revision', async () => {
    expect(await list('limit=1&continue=nonsense')).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
    expect(await list(`limit=2&continue=${tokenOf(await list('limit=2'))}&resourceVersion=${revision}`)).toMatchObject({
      status: 400,
      body: { reason: 'BadRequest', message: 'specifying resource version is not allowed when using continue' },
    });
  });

  it('lists as of exactly a revision, not older than one, or whatever it has', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('p9', { metadata: { labels: { set: 'paged' } } }));
    const exact = await list(`resourceVersion=${revision}&resourceVersionMatch=Exact`);
    expect([names(exact), exact.body['metadata']['resourceVersion']]).toEqual([
      ['p0', 'p1', 'p2', 'p3', 'p4'],
      revision,
    ]);
    const first = await list(`resourceVersion=${revision}&resourceVersionMatch=Exact&limit=2`);
    expect(names(first)).toEqual(['p0', 'p1']);
    const notOlder = await list(`resourceVersion=${revision}&resourceVersionMatch=NotOlderThan`);
    expect(Number(notOlder.body['metadata']['resourceVersion'])).toBeGreaterThanOrEqual(Number(revision));
    expect(names(notOlder)).toEqual(expect.arrayContaining(['p0', 'p4']));
    expect(names(await list('resourceVersion=0'))).toEqual(expect.arrayContaining(['p0', 'p4']));
    await http.delete(widgets('p9'));
  });

  it('refuses a match that makes no sense, saying why', async () => {
    const match = (message: string, reason = 'FieldValueForbidden'): Json => ({
      reason,
      message,
      field: 'resourceVersionMatch',
    });
    const alone = await list('resourceVersionMatch=Exact');
    const zero = await list('resourceVersion=0&resourceVersionMatch=Exact');
    const other = await list('resourceVersion=5&resourceVersionMatch=Foo');
    expect([alone, zero, other].map((answer) => [answer.status, causesOf(answer)])).toEqual([
      [422, [match('Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided')]],
      [422, [match('Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"')]],
      [
        422,
        [match('Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""', 'FieldValueNotSupported')],
      ],
    ]);
  });

  it('asks a caller who is ahead of the server to come again', async () => {
    expect(await list('resourceVersion=99999999')).toMatchObject({
      status: 504,
      body: {
        reason: 'Timeout',
        message: expect.stringMatching(/^Timeout: Too large resource version: 99999999, current: \d+$/),
        details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }] },
      },
    });
  });

  it('answers 410 for an expired token, with one that goes on regardless', { timeout: 120_000 }, async ({ skip }) => {
    const { http, widgets, widget, cluster } = context();
    if (cluster.forgetHistory === undefined) skip('this server’s history cannot be made to expire');
    const first = await list('limit=2');
    await http.delete(widgets('p3'));
    await http.post(widgets(), widget('p5', { metadata: { labels: { set: 'paged' } } }));
    await cluster.forgetHistory?.();
    const expired = await list(`limit=2&continue=${tokenOf(first)}`);
    expect(expired).toMatchObject({
      status: 410,
      body: {
        kind: 'Status',
        reason: 'Expired',
        code: 410,
        message:
          'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
        metadata: { continue: expect.stringMatching(/./) },
      },
    });
    const second = await list(`limit=2&continue=${tokenOf(expired)}`);
    expect(names(second)).toEqual(['p2', 'p4']);
    expect(names(await list(`limit=2&continue=${tokenOf(second)}`))).toEqual(['p5']);
    const old = await list(`resourceVersion=${revision}&resourceVersionMatch=Exact`);
    expect([old.status, old.body['reason']]).toEqual([410, 'Expired']);
  });
}
