import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Terminal } from '../../src/cli/terminal.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { Home, type Ended } from './home.ts';

let plane: RunningControlPlane;
let home: Home;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  home = new Home();
  await home.run(['login', plane.url, '--token-file', home.file('token', plane.token), '--name', 'dev']);
});
afterAll(async () => {
  home[Symbol.dispose]();
  await plane[Symbol.asyncDispose]();
});

const run = async (...args: string[]): Promise<Ended> => await home.run(['clusters', ...args]);
const shown = async (slug: string): Promise<Record<string, unknown>> =>
  (await plane.call('GET', `/clusters/${slug}`)).body;

describe('servicectl clusters create', () => {
  it('makes a cluster of what options say, and prints how its operator is installed', async () => {
    const { code, out, err } = await run(
      ...'create eu --display-name Europe --mode pull --label team=shop --label env=prod --namespace shop,blog'.split(
        ' ',
      ),
      ...'--namespace docs --heartbeat-every 2m --require-signed-payloads --event-batch-size 7'.split(' '),
    );
    expect([code, err]).toEqual([0, 'cluster eu is created; its admin runs this:\n\n']);
    expect(out).toMatch(/^# Installs the operator of cluster eu\. /);
    expect(out).not.toContain('svcreg_');
    expect(await shown('eu')).toMatchObject({
      displayName: 'Europe',
      connectivityMode: 'pull',
      labels: { team: 'shop', env: 'prod' },
      allowedNamespaces: ['shop', 'blog', 'docs'],
      intervals: { heartbeatSeconds: 120, eventBatchSize: 7 },
      security: { requireSignedPayloads: true },
    });
  });

  it('takes a file, over which the options count, and says on which line of it a fault is', async () => {
    const file = home.file(
      'us.yaml',
      'slug: us\ndisplayName: USA\nconnectivityMode: gitops\ngit:\n  review: proposal\n',
    );
    const made = await run(
      'create',
      '--from-file',
      file,
      '--merge',
      'manual',
      '--required-approvals',
      '2',
      '-o',
      'yaml',
    );
    expect(parse(made.out)).toMatchObject({
      slug: 'us',
      git: { review: 'proposal', merge: 'manual', requiredApprovals: { count: 2 } },
    });
    expect(made).toMatchObject({ code: 0, err: '' });
    const wrong = await run('create', 'x', '--from-file', home.file('x.yaml', '# a\nallowedNamespaces: [Shop]\n'));
    expect([wrong.code, wrong.err]).toEqual([
      1,
      expect.stringMatching(/^servicectl: \S+x\.yaml:2: \/allowedNamespaces\/0 /),
    ]);
    expect(await run('create')).toMatchObject({
      code: 2,
      err: expect.stringContaining('servicectl clusters create SLUG'),
    });
  });

  it('says what to do about a slug that is not to be had', async () => {
    expect((await run('create', 'eu')).err).toContain('servicectl clusters install-command SLUG\n');
    expect((await run('create', 'Not_One')).err).toContain('Choose another: servicectl clusters create SLUG');
  });

  it('prints the registration token when it is asked for alone', async () => {
    expect((await run('create', 'tokened', '--print-token')).out).toMatch(/^svcreg_\S+\n$/);
    expect((await run('create', 'quiet', '-o', 'json')).out).not.toContain('svcreg_');
  });
});

it('finds clusters by labels, mode, status, health and text', async () => {
  const names = async (...args: string[]): Promise<string> => (await run('list', '-o', 'name', ...args)).out;
  expect(await names('-l', 'team=shop,env!=dev')).toBe('eu\n');
  expect(await names('--mode', 'gitops')).toBe('us\n');
  expect(await names('--search', 'USA')).toBe('us\n');
  expect(await names('--status', 'Active')).toBe('');
  expect(await names('--health', 'unknown')).toBe('eu\nquiet\ntokened\nus\n');
  expect((await run('list', '-l', 'team=shop', '-o', 'wide')).out).toMatch(
    /^SLUG +ID +NAME .* LABELS +WAITING FOR\neu +c-\S+ +Europe .*env=prod,team=shop/,
  );
  expect((await run('list', '-l', '???')).code).toBe(1);
});

describe('servicectl clusters update and label', () => {
  it('changes what is named alone, and adds to lists without losing what others added', async () => {
    expect(
      await run('update', 'eu', '--no-require-signed-payloads', '--approval-namespace', 'shop', '-o', 'name'),
    ).toEqual({
      code: 0,
      out: 'eu\n',
      err: '',
    });
    await run('update', 'eu', '--add-namespace', 'news', '--remove-namespace', 'docs');
    expect(await shown('eu')).toMatchObject({
      displayName: 'Europe',
      allowedNamespaces: ['shop', 'blog', 'news'],
      approvalNamespaces: ['shop'],
      security: { requireSignedPayloads: false },
    });
    expect(await run('update', 'eu')).toMatchObject({
      code: 2,
      err: expect.stringContaining('nothing is to be changed'),
    });
    expect(await run('update', 'eu', '--namespace', 'a', '--add-namespace', 'b')).toMatchObject({ code: 2 });
  });

  it('sets labels and takes them away', async () => {
    expect((await run('label', 'eu', 'team-', 'tier=one')).out).toBe('eu: env=prod,tier=one\n');
    expect((await run('label', 'eu', 'what')).code).toBe(2);
  });
});

it('deletes a cluster whose slug was typed, after it said what goes and what stays', async () => {
  const answering = (answer: string): { readonly terminal: Terminal } => {
    const ask = async (): Promise<string> => await Promise.resolve(answer);
    return { terminal: { ask, askHidden: ask } };
  };
  const no = await home.run(['clusters', 'delete', 'quiet'], answering('yes'));
  expect([no.code, no.err]).toEqual([
    1,
    expect.stringMatching(
      /^This deletes the record of quiet, .*In the cluster 0 applications and the operator stay.*\n.*nothing was done\n$/,
    ),
  ]);
  expect(await run('delete', 'quiet')).toMatchObject({ code: 2, err: expect.stringContaining('add --yes') });
  expect(await home.run(['clusters', 'delete', 'quiet'], answering('quiet'))).toMatchObject({ code: 0 });
  expect((await run('delete', 'quiet', '--yes')).err).toContain('servicectl clusters list');
});

it('takes a cluster as it is shown, without what nobody gives', async () => {
  await run(...'create first --mode gitops --namespace shop --label team=a --heartbeat-every 2m --prune'.split(' '));
  for (const format of ['yaml', 'json']) {
    const file = home.file(`first.${format}`, (await run('show', 'first', '-o', format)).out);
    const { code, out, err } = await run('create', `by-${format}`, '--from-file', file, '-o', format);
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/^left out, as it is not given [^\n]*: id, [^\n]*git\.url[^\n]*\n$/),
    ]);
    expect(parse(out)).toMatchObject({
      slug: `by-${format}`,
      labels: { team: 'a' },
      allowedNamespaces: ['shop'],
      ownIntervals: ['heartbeatSeconds'],
      git: { pruneOnRemoval: true },
    });
  }
  const wrong = home.file('wrong.yaml', 'slug: wrong\nallowedNamespace: [shop]\n');
  expect((await run('create', '--from-file', wrong)).code).toBe(1);
});
