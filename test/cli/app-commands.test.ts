import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerAgent } from '../control-plane/admin/running-agent.ts';
import { PODINFO, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { Home, type Ended } from './home.ts';

const ESCAPE = '\u001b';
const SCHEMA = {
  type: 'object',
  properties: { replicas: { type: 'integer' }, ui: { type: 'object', properties: { message: { type: 'string' } } } },
};
const VALUES = '# of the shop\nui:\n  message: hi\nreplicas: 2\n';

let plane: RunningControlPlane;
let home: Home;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  home = new Home();
  await plane.call('PUT', '/catalog/podinfo', { ...PODINFO, valuesSchema: SCHEMA });
  await plane.newCluster('prod-eu', { connectivityMode: 'pull' });
  await registerAgent(plane, 'prod-eu');
  await home.run(['login', plane.url, '--token-file', home.file('token', plane.token), '--name', 'dev']);
});
afterAll(async () => {
  home[Symbol.dispose]();
  await plane[Symbol.asyncDispose]();
});

async function apps(...args: readonly string[]): Promise<Ended> {
  return await home.run(['apps', ...args]);
}

async function install(name: string, ...more: readonly string[]): Promise<Ended> {
  return await apps('install', 'prod-eu', `shop/${name}`, '--entry', 'podinfo', '--version', '6.5.0', ...more);
}

/** What would be delivered. */
async function specOf(ended: Promise<Ended>): Promise<string> {
  const { code, out, err } = await ended;
  if (code !== 0) throw new Error(err);
  return out.slice(out.indexOf('spec:'));
}

describe('servicectl apps install', () => {
  it('asks for what its options say, files and single values one over the other', async () => {
    const files = ['-f', home.file('a.yaml', VALUES), '-f', home.file('b.yaml', 'ui: { color: red }\n')];
    const set = ['--set', 'replicas=3', '--set', 'hosts[1].name=b', '--set-string', 'tag=1', '--set', 'a\\.b.c=null'];
    const options = ['--depends-on', 'db', '--depends-on', 'shop/cache', '--upgrade-timeout', '10m', '--retries', '1'];
    const drift = [
      '--drift-detection',
      'warn',
      '--drift-ignore',
      'Deployment:/spec/replicas',
      '--drift-ignore',
      '/data',
    ];
    const spec = await specOf(install('podinfo', ...files, ...set, ...options, ...drift, '--dry-run'));
    for (const part of [
      'values:\n    a.b:\n      c: null\n    hosts:\n      - null\n      - name: b\n    replicas: 3\n    tag: "1"\n    ui:\n      color: red\n      message: hi\n',
      'dependsOn:\n    - name: db\n    - name: cache\n      namespace: shop\n',
      'timeout: "10m"',
      'retries: 1',
      'driftDetection: warn',
      '- paths:\n        - /spec/replicas\n      target:\n        kind: Deployment\n',
    ])
      expect(spec).toContain(part);
    expect((await plane.call('GET', '/intents')).body['items']).toEqual([]);
  });

  it('names the line or the option of every value that is refused, and what to do', async () => {
    const file = home.file('bad.yaml', VALUES.replace('hi', '7').replace('2', 'many'));
    const refused = await install('podinfo', '-f', file);
    expect([refused.code, refused.err.replaceAll(home.folder, '')]).toEqual([
      1,
      'servicectl: /bad.yaml:4: /values/replicas must be an integer\n/bad.yaml:3: /values/ui/message must be a string\n' +
        'See what the values may be: servicectl catalog show podinfo -o yaml\n',
    ]);
    const set = await install('podinfo', '-f', home.file('good.yaml', VALUES), '--set', 'replicas=x', '--dry-run');
    expect([set.code, set.err]).toEqual([
      1,
      expect.stringContaining('\n--set replicas: /values/replicas must be an integer\n'),
    ]);
    const version = await apps('install', 'prod-eu', 'shop/x', '--entry', 'podinfo', '--version', '7.0.0');
    expect(version.err).toMatch(/\/chartVersion .*\nSee which there are: servicectl catalog versions podinfo\n$/);
    const namespace = await apps('install', 'prod-eu', 'kube-system/x', '--entry', 'podinfo', '--version', '6.5.0');
    expect(namespace.err).toMatch(/\/namespace .*\nSee what the cluster allows: servicectl clusters show prod-eu/);
  });

  it.for([
    [['podinfo', '--entry', 'podinfo'], 'say in which namespace podinfo is to be'],
    [['shop/podinfo'], 'say which entry of the catalog shop/podinfo is of'],
    [['shop/podinfo', '-n', 'other', '--entry', 'podinfo'], 'is in the namespace shop, and -n says other'],
    [['a/b/c', '--entry', 'podinfo'], 'a/b/c is no name of an application'],
    [['shop/podinfo', '--entry', 'podinfo', '--set', 'a..b=1'], 'It is name=value'],
    [['shop/podinfo', '--entry', 'podinfo', '--drift-ignore', 'spec'], 'It is a JSON pointer'],
    [['shop/podinfo', '--entry', 'podinfo', '-f', '-', '--secret-values', '-'], 'standard input can be read once'],
  ] as const)('takes no command line that says %j', async ([args, why]) => {
    expect(await apps('install', 'prod-eu', ...args)).toMatchObject({ code: 2, err: expect.stringContaining(why) });
  });

  it('says of a file of secret values where it is wrong, and nothing of what is in it', async () => {
    const { code, err } = await install(
      'podinfo',
      '--secret-values',
      home.file('s.yaml', 'password: "hunter2" hunter3\n'),
    );
    expect([code, err]).toEqual([2, expect.stringMatching(/s\.yaml:1:\d+: is no YAML\n$/)]);
    expect(err).not.toContain('hunter');
  });
});

describe('an application that is there', () => {
  beforeAll(async () => {
    expect(await install('web', '-f', home.file('web.yaml', VALUES), '--reason', 'the shop opens')).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^int-\S+: install of shop\/web is asked for\nTo follow it: servicectl intents show int-\S+, or servicectl apps status prod-eu shop\/web --watch\n$/,
      ),
    });
  });

  it('is compared as diff does it: 0 without a difference, 1 with one, 2 where it cannot be said', async () => {
    const same = await apps('diff', 'prod-eu', 'web', '--version', '6.5.0');
    const other = await apps('diff', 'prod-eu', 'web', '--version', '6.5.4', '--color', 'always');
    const fresh = await apps('diff', 'prod-eu', 'shop/fresh', '--entry', 'podinfo', '--version', '6.5.0');
    const refused = await apps('diff', 'prod-eu', 'web', '--version', '7.0.0');
    const missing = await apps('diff', 'prod-eu', 'nothing');
    expect([same, other.code, fresh.code, refused.code, missing.code]).toEqual([
      { code: 0, out: '', err: '' },
      1,
      1,
      2,
      2,
    ]);
    expect([other.out, other.err]).toEqual([
      expect.stringMatching(new RegExp(`${ESCAPE}\\[31m- .*6\\.5\\.0"?${ESCAPE}\\[0m\n${ESCAPE}\\[32m\\+ .*6\\.5\\.4`)),
      '',
    ]);
    expect(fresh.out).toMatch(/^--- \/dev\/null\n\+\+\+ b\/shop\/fresh\.yaml\n/);
    expect(missing.err).toContain('servicectl apps list prod-eu');
  });

  it('keeps at an upgrade what is not named, and loses its values where that is asked for', async () => {
    const kept = await specOf(apps('upgrade', 'prod-eu', 'web', '--version', '6.5.4', '--dry-run'));
    expect(kept).toContain('version: 6.5.4\n  values:\n    replicas: 2\n    ui:\n      message: hi\n');
    const reset = await specOf(apps('upgrade', 'prod-eu', 'web', '--reset-values', '--set', 'replicas=1', '--dry-run'));
    expect(reset).toContain('version: 6.5.0\n  values:\n    replicas: 1\n    ui:\n      message: hello\n');
    expect(await apps('upgrade', 'prod-eu', 'web', '--reason', 'none')).toMatchObject({
      code: 2,
      err: expect.stringContaining('say what is to change'),
    });
    const late = await apps('upgrade', 'prod-eu', 'web', '--suspend', '--expect-generation', '7');
    expect([late.code, late.err]).toEqual([
      1,
      expect.stringMatching(
        /has generation 1, not 7.*\nSee what was asked for meanwhile: servicectl intents list --cluster prod-eu -n shop --name web\n$/,
      ),
    ]);
  });

  it('is listed by every filter, shown with its way, and waited for until the time is up', async () => {
    await plane.until(String((await plane.call('GET', '/intents?name=web')).body['items'][0].id), 'delivered');
    const found = [
      '-n',
      'shop',
      '--entry',
      'podinfo',
      '--state',
      'delivered',
      '--health',
      'progressing',
      '--search',
      'we',
    ];
    expect((await apps('list', 'prod-eu', ...found)).out).toMatch(
      /^CLUSTER +NAME +ENTRY.*\nprod-eu +shop\/web +podinfo +6\.5\.0 +delivered +progressing +-\n$/,
    );
    expect(await apps('list', '--health', 'degraded', '-o', 'name')).toMatchObject({ code: 0, out: '' });
    expect((await apps('list', '-o', 'name')).out).toBe('prod-eu/shop/web\n');
    expect((await apps('show', 'prod-eu', 'web')).out).toMatch(
      /^done +queued .*\nnow +delivered .*\nto come +acknowledged /m,
    );
    const waited = await apps('status', 'prod-eu', 'web', '--until', 'ready', '--timeout', '1s');
    expect([waited.code, waited.out, waited.err]).toEqual([
      3,
      expect.stringMatching(
        /Z {2}prod-eu\/shop\/web {2}delivered, progressing, 6\.5\.0, generation 1; next: fetched by the operator of prod-eu\n$/,
      ),
      expect.stringMatching(/^servicectl: shop\/web \(delivered\) is not ready after 1 s; next: fetched/),
    ]);
  });

  it('is uninstalled when that is meant, and says before what goes and what stays', async () => {
    const asked = await apps('uninstall', 'prod-eu', 'web');
    expect([asked.code, asked.err]).toEqual([
      2,
      expect.stringMatching(
        /nothing was done\. This uninstalls shop\/web from prod-eu; its Helm release goes.*--deletion-policy Orphan.*\n.*--yes\n$/,
      ),
    ]);
    const orphan = await apps('upgrade', 'prod-eu', 'web', '--deletion-policy', 'Orphan');
    expect(orphan.code).toBe(0);
    expect((await apps('uninstall', 'prod-eu', 'web', '--dry-run')).out).toContain(
      'deletion policy is Orphan: the Helm release and all',
    );
    const done = await apps('uninstall', 'prod-eu', 'web', '--yes', '--wait', '--timeout', '1s');
    expect([done.code, done.err]).toEqual([
      3,
      expect.stringMatching(
        /shop\/web is not there after 1 s, and goes on; next: .*\nTo see where it is: servicectl intents show int-\S+\n$/,
      ),
    ]);
  });
});
