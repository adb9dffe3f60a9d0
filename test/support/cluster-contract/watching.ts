import { expect, it } from 'vitest';
import type { ContractContext } from './contract-context.ts';
import type { Json } from './kube-http.ts';

function summary(event: Json): readonly [string, string] {
  return [String(event['type']), String(event['object']['metadata']?.['name'] ?? '')];
}

/** Watches, their start, their resumption and their end. */
export function describeWatching(context: () => ContractContext): void {
  async function take(path: string, count: number): Promise<Json[]> {
    const events: Json[] = [];
    for await (const event of context().http.watch(path)) {
      events.push(event);
      if (events.length === count) break;
    }
    return events;
  }

  it('sends everything after a revision, in order, with the object as it was', async () => {
    const { http, configMaps } = context();
    const { resourceVersion } = (await http.get(configMaps())).body['metadata'] as Json;
    await http.post(configMaps(), { metadata: { name: 'w1' }, data: { a: '1' } });
    await http.patch(configMaps('w1'), 'merge', { data: { a: '2' } });
    await http.delete(configMaps('w1'));
    const events = await take(
      `${configMaps()}?watch=true&timeoutSeconds=20&resourceVersion=${String(resourceVersion)}`,
      3,
    );
    expect(events.map((event) => [event['type'], event['object']['data']])).toEqual([
      ['ADDED', { a: '1' }],
      ['MODIFIED', { a: '2' }],
      ['DELETED', { a: '2' }],
    ]);
    const revisions = events.map((event) => Number(event['object']['metadata']['resourceVersion']));
    expect(revisions).toEqual(revisions.toSorted((left, right) => left - right));
    const [, second = 0] = revisions;
    const resumed = await take(`${configMaps()}?watch=true&timeoutSeconds=20&resourceVersion=${second}`, 1);
    expect(resumed.map(summary)).toEqual([['DELETED', 'w1']]);
  });

  it('starts with what there is when no revision is given', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('seen-1', { metadata: { labels: { seen: 'yes' } } }));
    await http.post(widgets(), widget('seen-2', { metadata: { labels: { seen: 'yes' } } }));
    for (const start of ['', '&resourceVersion=0']) {
      const events = await take(`${widgets()}?watch=1&timeoutSeconds=20&labelSelector=seen%3Dyes${start}`, 2);
      // In any order: a real server's cache keeps none.
      expect(new Set(events.map((event) => summary(event).join(' ')))).toEqual(
        new Set(['ADDED seen-1', 'ADDED seen-2']),
      );
    }
  });

  it('reports an object that comes into or leaves the selection as added or deleted', async () => {
    const { http, configMaps } = context();
    const { body } = await http.post(configMaps(), { metadata: { name: 'mover' } });
    const since = String(body['metadata']['resourceVersion']);
    await http.patch(configMaps('mover'), 'merge', { metadata: { labels: { in: 'yes' } } });
    await http.patch(configMaps('mover'), 'merge', { metadata: { labels: { in: null } } });
    const path = `${configMaps()}?watch=true&timeoutSeconds=20&labelSelector=in%3Dyes&resourceVersion=${since}`;
    expect((await take(path, 2)).map(summary)).toEqual([
      ['ADDED', 'mover'],
      ['DELETED', 'mover'],
    ]);
  });

  it('ends after timeoutSeconds with a bookmark beyond the changes that the watcher did not want', async () => {
    const { http, widgets, widget } = context();
    const list = (await http.get(widgets())).body;
    await http.post(widgets(), widget('wanted', { metadata: { labels: { wanted: 'yes' } } }));
    const since = String(list['metadata']['resourceVersion']);
    const query = `watch=true&timeoutSeconds=4&allowWatchBookmarks=true&labelSelector=wanted%3Dyes&resourceVersion=${since}`;
    const events: Json[] = [];
    let unwanted = 0;
    for await (const event of http.watch(`${widgets()}?${query}`)) {
      events.push(event);
      if (event['type'] !== 'ADDED') continue;
      // Only what happens while the watch is open moves its bookmark.
      const { body } = await http.post(widgets(), widget('unwanted'));
      unwanted = Number(body['metadata']['resourceVersion']);
    }
    expect([...new Set(events.map(({ type }) => String(type)))]).toEqual(['ADDED', 'BOOKMARK']);
    const { kind, apiVersion, metadata } = (events.at(-1)?.['object'] ?? {}) as Json;
    expect([kind, apiVersion]).toEqual(['Widget', 'contract.example.com/v1']);
    expect(Number(metadata['resourceVersion'])).toBeGreaterThanOrEqual(unwanted);
  });

  it('answers a revision from before the server started with an ERROR event of code 410', async () => {
    const { configMaps, widgets } = context();
    for (const path of [configMaps(), widgets()]) {
      expect(await take(`${path}?watch=true&timeoutSeconds=20&resourceVersion=1`, 2)).toEqual([
        {
          type: 'ERROR',
          object: {
            kind: 'Status',
            apiVersion: 'v1',
            metadata: {},
            status: 'Failure',
            message: expect.stringMatching(/^too old resource version: 1 \(\d+\)$/),
            reason: 'Expired',
            code: 410,
          },
        },
      ]);
    }
  });

  it('answers a revision that is too old with an ERROR event of code 410', { timeout: 120_000 }, async ({ skip }) => {
    const { http, configMaps, cluster } = context();
    if (cluster.forgetHistory === undefined) skip('this server’s history cannot be made to expire');
    const { body } = await http.post(configMaps(), { metadata: { name: 'ancient' } });
    await http.post(configMaps(), { metadata: { name: 'recent' } });
    await cluster.forgetHistory?.();
    const path = `${configMaps()}?watch=true&resourceVersion=${String(body['metadata']['resourceVersion'])}`;
    expect(await take(path, 2)).toMatchObject([
      { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } },
    ]);
  });

  it('shows a status write to a watcher of the main resource', async () => {
    const { http, widgets, widget } = context();
    const { body } = await http.post(widgets(), widget('live'));
    await http.patch(widgets('live', 'status'), 'merge', { status: { phase: 'up' } });
    const since = String(body['metadata']['resourceVersion']);
    const [event] = await take(`${widgets()}?watch=true&timeoutSeconds=20&resourceVersion=${since}`, 1);
    expect(event).toMatchObject({ type: 'MODIFIED', object: { status: { phase: 'up' } } });
  });
}
