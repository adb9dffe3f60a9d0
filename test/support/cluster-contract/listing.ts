import { expect, it } from 'vitest';
import { GROUP, type ContractContext } from './contract-context.ts';
import type { Json } from './kube-http.ts';

function names(list: Json): string[] {
  return (list['items'] as Json[]).map((item) => String(item['metadata']['name']));
}

/** Lists, selectors, pages, tables and discovery. */
export function describeListing(context: () => ContractContext): void {
  async function fill(label: string, count: number): Promise<void> {
    const { http, configMaps } = context();
    for (let index = 0; index < count; index += 1) {
      await http.post(configMaps(), {
        metadata: {
          name: `${label}-${index}`,
          labels: { set: label, index: String(index), ...(index === 0 ? { first: '' } : {}) },
        },
      });
    }
  }

  it('selects by labels and by name', async () => {
    const { http, configMaps } = context();
    await fill('sel', 4);
    const select = async (selector: string): Promise<string[]> =>
      names((await http.get(`${configMaps()}?labelSelector=${encodeURIComponent(selector)}`)).body);
    expect(await select('set=sel,index=1')).toEqual(['sel-1']);
    expect(await select('set==sel,index!=1')).toEqual(['sel-0', 'sel-2', 'sel-3']);
    expect(await select('set=sel,index in (0, 2)')).toEqual(['sel-0', 'sel-2']);
    expect(await select('set=sel,index notin (0,2)')).toEqual(['sel-1', 'sel-3']);
    expect(await select('set=sel,first')).toEqual(['sel-0']);
    expect(await select('set=sel,!first')).toEqual(['sel-1', 'sel-2', 'sel-3']);
    expect(names((await http.get(`${configMaps()}?fieldSelector=metadata.name%3Dsel-2`)).body)).toEqual(['sel-2']);
    expect((await http.get(`${configMaps()}?fieldSelector=data.a%3Db`)).status).toBe(400);
    expect((await http.get(`${configMaps()}?labelSelector=%3D%3D`)).status).toBe(400);
  });

  it('pages through one consistent listing while objects come and go', async () => {
    const { http, configMaps } = context();
    await fill('page', 5);
    const query = '?labelSelector=set%3Dpage&limit=2';
    const first = (await http.get(`${configMaps()}${query}`)).body;
    expect(names(first)).toEqual(['page-0', 'page-1']);
    await http.delete(configMaps('page-3'));
    await http.post(configMaps(), { metadata: { name: 'page-9', labels: { set: 'page' } } });
    const second = (await http.get(`${configMaps()}${query}&continue=${String(first['metadata']['continue'])}`)).body;
    const third = (await http.get(`${configMaps()}${query}&continue=${String(second['metadata']['continue'])}`)).body;
    expect([...names(second), ...names(third)]).toEqual(['page-2', 'page-3', 'page-4']);
    expect(third['metadata']['continue']).toBeUndefined();
    expect(third['metadata']['resourceVersion']).toBe(first['metadata']['resourceVersion']);
  });

  it('says how many objects a page leaves out when nothing is selected', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('left-1'));
    await http.post(widgets(), widget('left-2'));
    const all = names((await http.get(widgets())).body).length;
    const { body } = await http.get(`${widgets()}?limit=1`);
    expect(body).toMatchObject({
      kind: 'WidgetList',
      apiVersion: `${GROUP}/v1`,
      metadata: { remainingItemCount: all - 1 },
    });
  });

  it('finds the Events about one object', async () => {
    const { http, namespace } = context();
    const event = (name: string, about: string): Json => ({
      metadata: { name },
      involvedObject: { kind: 'Widget', namespace, name: about, uid: `uid-${about}` },
      reason: 'Made',
      type: 'Normal',
    });
    const events = `/api/v1/namespaces/${namespace}/events`;
    await http.post(events, event('e1', 'a'));
    await http.post(events, event('e2', 'b'));
    const selector = encodeURIComponent(`involvedObject.kind=Widget,involvedObject.name=b,involvedObject.uid=uid-b`);
    expect(names((await http.get(`${events}?fieldSelector=${selector}`)).body)).toEqual(['e2']);
  });

  it('deletes a selected collection', async () => {
    const { http, configMaps } = context();
    await fill('gone', 3);
    expect((await http.delete(`${configMaps()}?labelSelector=set%3Dgone,index!%3D1`)).status).toBe(200);
    expect(names((await http.get(`${configMaps()}?labelSelector=set%3Dgone`)).body)).toEqual(['gone-1']);
  });

  it('renders a table with the printer columns of the definition', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('tabled', { spec: { size: 7, color: 'red' } }));
    await http.patch(widgets('tabled', 'status'), 'merge', {
      status: {
        conditions: [
          { type: 'Other', status: 'False' },
          { type: 'Ready', status: 'True' },
        ],
      },
    });
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    const { body } = await http.get(`${widgets()}?fieldSelector=metadata.name%3Dtabled`, { accept });
    expect(body).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    expect(
      (body['columnDefinitions'] as Json[]).map((column) => [column['name'], column['type'], column['priority']]),
    ).toEqual([
      ['Name', 'string', 0],
      ['Size', 'integer', 0],
      ['Ready', 'string', 0],
      ['Color', 'string', 1],
      ['Age', 'date', 0],
    ]);
    expect(body['rows']).toMatchObject([
      {
        cells: ['tabled', 7, 'True', 'red', expect.stringMatching(/^\d+[sm]/)],
        object: { kind: 'PartialObjectMetadata', metadata: { name: 'tabled' } },
      },
    ]);
  });

  it('serves discovery for kinds of its own and of definitions', async () => {
    const { http } = context();
    expect((await http.get('/api')).body).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
    const groups = (await http.get('/apis')).body['groups'] as Json[];
    expect(groups.find((group) => group['name'] === GROUP)).toMatchObject({
      versions: [{ groupVersion: `${GROUP}/v1`, version: 'v1' }],
      preferredVersion: { groupVersion: `${GROUP}/v1`, version: 'v1' },
    });
    const resources = (await http.get(`/apis/${GROUP}/v1`)).body['resources'] as Json[];
    expect(resources).toMatchObject([
      { name: 'widgets', singularName: 'widget', namespaced: true, kind: 'Widget', shortNames: ['wd'] },
      { name: 'widgets/status', namespaced: true, kind: 'Widget', verbs: ['get', 'patch', 'update'] },
    ]);
    expect((await http.get('/version')).body['gitVersion']).toMatch(/^v1\.\d+\.\d+/);
    expect((await http.get('/apis/absent.example.com/v1')).status).toBe(404);
    expect((await http.get('/readyz')).text).toBe('ok');
  });
}
