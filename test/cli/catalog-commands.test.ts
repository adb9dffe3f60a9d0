import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { servicectl } from '../../src/cli/servicectl.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { ChartRegistry } from '../support/chart-registry.ts';

const PASSWORD = 'a-password-of-the-robot';

let plane: RunningControlPlane;
let registry: ChartRegistry;

async function run(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let out = '';
  let err = '';
  const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: join(plane.folder, 'token') };
  const code = await servicectl(args, { env, out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

function file(name: string, text: string): string {
  const path = join(plane.folder, name);
  writeFileSync(path, text);
  return path;
}

const entry = (more = ''): string => `name: podinfo
chart:
  type: oci
  url: ${registry.oci().url}
  name: podinfo
versions: 6.x   # no 7 yet
${more}`;

const cells = (out: string): string[][] => out.split('\n').map((line) => line.split(/ {2,}/));

beforeAll(async () => {
  plane = await RunningControlPlane.start(systemClock, { SERVICE_CATALOG_ALLOW_PRIVATE: 'true' });
  registry = await ChartRegistry.start();
  registry.tags.set('charts/podinfo', ['6.5.0', '6.6.0', '7.0.0']);
  file('token', plane.token);
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
});

describe('servicectl catalog', () => {
  it('puts an entry from YAML, shows it, and what it shows can be put again', async () => {
    const path = file('entry.yaml', entry('defaultValues:\n  ui: { message: hello }\napproval: { count: 2 }\n'));
    const put = await run('catalog', 'put', '-f', path);
    expect(put).toMatchObject({ code: 0, err: '' });
    expect(put.out).toMatch(/^name {8}podinfo\nchart {7}podinfo of oci:.*\nversions {4}6.x\n/);
    const shown = await run('catalog', 'show', 'podinfo', '-o', 'yaml');
    expect(parse(shown.out)).toMatchObject({ name: 'podinfo', versions: '6.x', approval: { count: 2 } });
    const edited = file('edited.yaml', shown.out.replace('message: hello', 'message: hi'));
    expect(await run('catalog', 'put', 'podinfo', '-f', edited)).toMatchObject({ code: 0 });
    const json = await run('catalog', 'show', 'podinfo', '-o', 'json');
    expect(JSON.parse(json.out)).toMatchObject({ defaultValues: { ui: { message: 'hi' } }, approval: { count: 2 } });
    expect(cells((await run('catalog', 'list')).out)[1]?.slice(0, 4)).toEqual(['podinfo', '6.x', '2', '-']);
    const { approval: _approval, ...rest } = JSON.parse(json.out) as Record<string, unknown>;
    const again = file('entry.json', JSON.stringify({ ...rest, deprecation: { message: 'old' } }));
    expect(await run('catalog', 'put', '-f', again)).toMatchObject({ code: 0 });
    expect(cells((await run('catalog', 'list')).out)).toEqual([
      ['NAME', 'VERSIONS', 'APPROVALS', 'DEPRECATED', 'TYPE', 'CHART'],
      ['podinfo', '6.x', '-', 'yes', 'oci', registry.oci().url],
      [''],
    ]);
  });

  it('says on which line of the file each fault is', async () => {
    const text = `name: faulty
chart:
  type: oci
  url: https://charts.example.com
versions: 6.x
defaultValues:
  replicas: many
unknown: 1
`;
    const path = file('faulty.yaml', text);
    const { code, err } = await run('catalog', 'put', '-f', path);
    expect([code, err.split('\n')]).toEqual([
      1,
      [
        expect.stringMatching(/^servicectl: \S+faulty\.yaml:\d: \/\S+ /),
        expect.stringMatching(/^\S+faulty\.yaml:\d: \/\S+ /),
        '',
      ],
    ]);
    expect(err).toContain(`${path}:8: /unknown is not known`);
    expect(err).toContain(`${path}:3: /chart/name `);
    const valuesSchema = `valuesSchema:\n  properties:\n    replicas: { type: integer }\n`;
    const values = file('values.yaml', entry(`${valuesSchema}defaultValues:\n  replicas: many\n`));
    expect((await run('catalog', 'put', '-f', values)).err).toMatch(
      /^servicectl: \S+values\.yaml:11: \/defaultValues\/replicas must be/,
    );
  });

  it.for([
    ['a: b: c', /broken\.yaml:1:\d+: /],
    ['- a', /broken\.yaml:1: must be an object/],
    ['a: 1\na: 2', /broken\.yaml:2:1: Map keys must be unique/],
    ['chart: {}', /broken\.yaml has no name/],
    ['name: other', /broken\.yaml is of the entry other, not of podinfo/],
    ['a: &a [*a, *a]\nb: [*a, *a]', /broken\.yaml/],
  ] as const)('does not call anybody with %j', async ([text, message]) => {
    const path = file('broken.yaml', text);
    const args = text === 'name: other' ? ['podinfo', '-f', path] : ['-f', path];
    const { code, out, err } = await run('catalog', 'put', ...args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(message);
  });

  it('prints the versions that are allowed, all of them, and says where there are none', async () => {
    const none = await run('catalog', 'versions', 'podinfo');
    expect(none).toMatchObject({ code: 1, out: '' });
    expect(none.err).toBe(
      'servicectl: the registry of podinfo was not asked yet\nAsk now: servicectl catalog versions podinfo --refresh\n',
    );
    expect(cells((await run('catalog', 'versions', 'podinfo', '--refresh')).out)).toEqual([
      ['VERSION', 'ALLOWED', 'APP VERSION', 'DEPRECATED', 'CREATED'],
      ['6.6.0', 'yes', '-', '-', '-'],
      ['6.5.0', 'yes', '-', '-', '-'],
      [''],
    ]);
    expect(cells((await run('catalog', 'versions', 'podinfo', '--all')).out)[1]?.slice(0, 2)).toEqual(['7.0.0', 'no']);
    const yaml = await run('catalog', 'versions', 'podinfo', '-o', 'yaml');
    expect(parse(yaml.out)).toMatchObject({ range: '6.x', versions: [{ version: '7.0.0' }, {}, {}] });
    await plane.execute("UPDATE chart_versions SET checked_at = '2026-01-01T00:00:00.000Z'");
    registry.interference = (_request, response) => response.writeHead(404).end();
    const down = await run('catalog', 'versions', 'podinfo', '--refresh');
    registry.interference = undefined;
    expect([down.code, cells(down.out).length]).toEqual([0, 4]);
    expect(down.err).toMatch(/^servicectl: the versions did not come at \S+, the list is of \S+: .* has no repository/);
  });

  it('prints what could be upgraded, of an entry and of a cluster', async () => {
    await plane.newCluster('prod-eu');
    const { body } = await plane.call('POST', '/clusters/prod-eu/intents', { ...INSTALL });
    await plane.until(String(body['id']), 'delivered');
    for (const of of [['podinfo'], ['--cluster', 'prod-eu'], ['podinfo', '--cluster', 'prod-eu', '--available']]) {
      expect(cells((await run('catalog', 'upgrades', ...of)).out).map((row) => row.slice(0, 7))).toEqual([
        ['CLUSTER', 'INSTANCE', 'ENTRY', 'VERSION', 'NEWEST', 'UPGRADE', 'DEPRECATED'],
        ['prod-eu', 'shop/podinfo', 'podinfo', '6.5.0', '6.6.0', 'yes', 'yes'],
        [''],
      ]);
    }
    expect(await run('catalog', 'upgrades')).toMatchObject({ code: 2, out: '' });
    const refused = await run('catalog', 'delete', 'podinfo', '--yes');
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('clusters list it: prod-eu') });
  });

  it('logs in and out with a password that it never shows, and deletes', async () => {
    file('unused.yaml', entry().replace('name: podinfo', 'name: unused'));
    await run('catalog', 'put', '-f', join(plane.folder, 'unused.yaml'));
    const password = file('password', `${PASSWORD}\n`);
    const login = await run('catalog', 'login', 'unused', '--username', 'robot', '--password-file', password);
    expect(login).toEqual({
      code: 0,
      err: '',
      out: `the versions of unused are read as robot at ${registry.oci().url}\n`,
    });
    expect((await run('catalog', 'show', 'unused')).out).toMatch(/^credential {2}user robot, set \S+$/m);
    expect(await run('catalog', 'logout', 'unused')).toMatchObject({ code: 0 });
    expect(await run('catalog', 'logout', 'unused')).toMatchObject({
      code: 1,
      err: expect.stringContaining('See which entries there are: servicectl catalog list'),
    });
    expect(await run('catalog', 'delete', 'unused')).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
    expect(await run('catalog', 'delete', 'unused', '--yes')).toMatchObject({ code: 0 });
  });
});
