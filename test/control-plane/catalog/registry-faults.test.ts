import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AddressInfo } from 'node:net';
import { ChartRegistry, helmIndex, type Interference } from '../../support/chart-registry.ts';
import { askRegistry, HurriedClock } from './ask-registry.ts';

let registry: ChartRegistry;
const ROBOT = { username: 'robot', password: 'a-password-of-the-robot' };

beforeEach(async () => {
  registry = await ChartRegistry.start();
  registry.tags.set('charts/podinfo', ['6.5.0']);
  registry.indices.set('/stable/index.yaml', helmIndex([{ version: '6.5.0' }]));
});
afterEach(async () => await registry[Symbol.asyncDispose]());

const status =
  (code: number, headers: Record<string, string> = {}): Interference =>
  (_request, response) =>
    response.writeHead(code, headers).end('a secret of an inner server');

describe('a registry that is not well', () => {
  it.for([503, 500, 429])('is asked again where it answers %i, and what it gives then counts', async (code) => {
    registry.interferences.push(status(code), status(code));
    const clock = new HurriedClock();
    expect(await askRegistry(registry.oci(), { clock })).toMatchObject({ versions: [{ version: '6.5.0' }] });
    expect(clock.slept).toEqual([450, 750]);
  });

  it.for([
    [503, 'down'],
    [429, 'limited'],
  ] as const)('is given up after three answers of %i, in words that hold nothing of its own', async ([code, kind]) => {
    registry.interference = status(code);
    expect(await askRegistry(registry.helm())).toBe(`${kind}: ${registry.host} answered ${code}`);
    expect(registry.asked).toHaveLength(3);
  });

  it('is waited for as long as it asks, and left alone where that is long', async () => {
    registry.interferences.push(status(429, { 'retry-after': '2' }));
    const clock = new HurriedClock();
    expect(await askRegistry(registry.oci(), { clock })).toMatchObject({ versions: [{ version: '6.5.0' }] });
    expect(clock.slept).toEqual([2000]);
    registry.asked.length = 0;
    registry.interference = status(429, { 'retry-after': '600' });
    expect(await askRegistry(registry.oci())).toBe(`limited: ${registry.host} answered 429`);
    expect(registry.asked).toHaveLength(1);
  });

  it('is down where nobody listens, and where a connection breaks off in the middle', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    const nobody = { type: 'helm', url: `http://127.0.0.1:${port}/x`, name: 'podinfo' } as const;
    expect(await askRegistry(nobody)).toBe(`down: 127.0.0.1:${port} does not answer (ECONNREFUSED)`);
    registry.interference = (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('apiVersion: v1\n', () => response.destroy());
    };
    expect(await askRegistry(registry.helm())).toMatch(/^down: .* does not answer \(/);
    expect(registry.asked).toHaveLength(3);
  });

  it('keeps nobody waiting who stops', async () => {
    const stop = new AbortController();
    registry.interference = () => stop.abort(new Error('stopping'));
    await expect(askRegistry(registry.helm(), { signal: stop.signal })).rejects.toThrow('stopping');
  });

  it.for([
    ['no JSON', '<html>', /^unusable: .* something that is not a list of tags$/],
    ['tags that are no texts', '{"tags":[1]}', /^unusable: .* something that is not a list of tags$/],
    ['more than a page may hold', ' '.repeat(1024 * 1024 + 1), /^unusable: .* answers with more than 1048576 bytes$/],
  ] as const)('is told where its tags are %s', async ([, body, fault]) => {
    registry.interferences.push((_request, response) => response.end(body));
    expect(await askRegistry(registry.oci())).toMatch(fault);
  });

  it.for([
    ['of another host', 'https://elsewhere.example.com/v2/x/tags/list'],
    ['of another port', 'http://127.0.0.1:1/v2/x/tags/list'],
    ['outside of its API', '/admin'],
  ] as const)('sends nobody to a next page %s', async ([, target]) => {
    registry.interference = (_request, response) =>
      response.writeHead(200, { link: `<${target}>; rel="next"` }).end('{"tags":["1.0.0"]}');
    expect(await askRegistry(registry.oci())).toBe(`unusable: ${registry.host} names a next page that is not its own`);
    expect(registry.asked).toHaveLength(1);
  });

  it.for(['the same', 'another'] as const)(
    'is not read for ever where each page names %s as the next',
    async (what) => {
      let page = 0;
      registry.interference = (_request, response) => {
        page += what === 'another' ? 1 : 0;
        const link = `</v2/charts/podinfo/tags/list?n=1000&page=${page}>; rel=next`;
        response.writeHead(200, { link }).end('{"tags":["1.0.0"]}');
      };
      expect(await askRegistry(registry.oci())).toMatch(/^unusable: .* has no end of pages: more than (2|200)$/);
      expect(registry.asked.length).toBeLessThanOrEqual(200);
    },
  );

  it('has its tags not listed where one page holds too many', async () => {
    const body = `{"tags":[${'"",'.repeat(340_000)}""]}`;
    registry.interferences.push((_request, response) => response.end(body));
    expect(await askRegistry(registry.oci())).toBe(
      'unusable: charts/podinfo has more than 20000 tags, which are not listed',
    );
  });

  it('has its tags not listed where they are too many', async () => {
    registry.tags.set(
      'charts/podinfo',
      Array.from({ length: 20_001 }, (_, at) => `1.0.${at}`),
    );
    expect(await askRegistry(registry.oci())).toBe(
      'unusable: charts/podinfo has more than 20000 tags, which are not listed',
    );
  });
});

describe('a credential', () => {
  it('does not follow a redirect to another host', async () => {
    await using other = await ChartRegistry.start();
    other.indices.set('/x', helmIndex([{ version: '1.0.0' }]));
    registry.interference = status(302, { location: `${other.origin}/x` });
    expect(await askRegistry(registry.helm(), { credential: ROBOT })).toMatchObject({
      versions: { versions: [{ version: '1.0.0' }] },
    });
    expect(registry.asked[0]?.authorization).toMatch(/^Basic /);
    expect(other.asked).toMatchObject([{ authorization: undefined }]);
  });

  it('goes along with a redirect to another path of its host', async () => {
    registry.auth = { kind: 'basic', ...ROBOT };
    registry.interferences.push(status(307, { location: '../stable/index.yaml' }));
    expect(await askRegistry(registry.helm('/old'), { credential: ROBOT })).toMatchObject({ state: 'fetched' });
  });

  it('goes with no redirect of a list of tags or of a token at all', async () => {
    await using other = await ChartRegistry.start();
    registry.interference = status(307, { location: `${other.origin}/v2/charts/podinfo/tags/list` });
    const moved = `redirects to http://${other.host}; set the chart's address to where it is now`;
    expect(await askRegistry(registry.oci(), { credential: ROBOT })).toBe(`unusable: ${registry.host} ${moved}`);
    registry.auth = { kind: 'bearer', ...ROBOT };
    registry.interference = (request, response) =>
      request.url?.startsWith('/token') === true
        ? response.writeHead(307, { location: `${other.origin}/token` }).end()
        : 'go on';
    expect(await askRegistry(registry.oci(), { credential: ROBOT })).toBe(`unusable: ${registry.host} ${moved}`);
    expect(other.asked).toEqual([]);
  });

  it('does not go over http:// to another machine', async () => {
    const chart = { type: 'helm', url: 'http://charts.example.com', name: 'podinfo' } as const;
    expect(await askRegistry(chart, { credential: ROBOT })).toBe(
      'unusable: charts.example.com was not called: a credential does not go over http://',
    );
  });
});

describe('where a registry may be', () => {
  it.for(['127.0.0.1', 'localhost', '10.0.0.1', '[::1]', '169.254.169.254', 'a.localhost'])(
    'is not %s without the setting',
    async (host) => {
      for (const chart of [
        { type: 'helm', url: `https://${host}/x`, name: 'podinfo' },
        { type: 'oci', url: `oci://${host}/x`, name: 'podinfo' },
      ] as const) {
        expect(await askRegistry(chart, { allowPrivate: false })).toBe(
          `unusable: ${host} was not called: it is not an address of the public network; SERVICE_CATALOG_ALLOW_PRIVATE=true allows others`,
        );
      }
    },
  );

  it('is not looked for behind a redirect or a realm either', async () => {
    await using secure = await ChartRegistry.start({ isTls: true });
    registry.interference = status(302, { location: 'ftp://127.0.0.1/x' });
    expect(await askRegistry(registry.helm())).toMatch(/^unusable: 127.0.0.1 was not called: it is not an https/);
    secure.interference = status(302, { location: `${registry.origin}/stable/index.yaml` });
    expect(await askRegistry(secure.helm(), { caCertificate: secure.root })).toBe(
      `unusable: ${secure.host} redirects to ${registry.origin}; set the chart's address to where it is now`,
    );
  });
});
