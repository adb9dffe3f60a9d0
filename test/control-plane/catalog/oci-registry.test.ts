import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ChartRegistry } from '../../support/chart-registry.ts';
import { askRegistry, HurriedClock } from './ask-registry.ts';

let registry: ChartRegistry;
const ROBOT = { username: 'robot', password: 'a-password-of-the-robot' };
const BASIC = `Basic ${Buffer.from('robot:a-password-of-the-robot').toString('base64')}`;

beforeEach(async () => {
  registry = await ChartRegistry.start();
  registry.tags.set('charts/podinfo', [
    '6.5.0',
    '6.10.0',
    '6.6.0-rc.1',
    'latest',
    '6.6.0',
    'sha256-abc',
    '6.6.0_build.1',
  ]);
});
afterEach(async () => await registry[Symbol.asyncDispose]());

const versions = (...list: string[]) => list.map((version) => ({ version }));
const ALL = {
  versions: versions('6.10.0', '6.6.0+build.1', '6.6.0', '6.6.0-rc.1', '6.5.0'),
  leftOut: 2,
};

describe('the tags of an OCI registry', () => {
  it('are its versions, the newest first, and what is no version is counted', async () => {
    expect(await askRegistry(registry.oci())).toEqual(ALL);
    expect(registry.paths).toEqual(['/v2/charts/podinfo/tags/list?n=1000']);
  });

  it.for(['relative', 'absolute'] as const)('are read to the last page by links that are %s', async (links) => {
    registry.pageSize = 2;
    registry.links = links;
    expect(await askRegistry(registry.oci())).toEqual(ALL);
    expect(registry.paths).toHaveLength(4);
  });

  it('may be none', async () => {
    registry.interferences.push((_request, response) => void response.end('{"name":"charts/podinfo","tags":null}'));
    expect(await askRegistry(registry.oci())).toEqual({ versions: [], leftOut: 0 });
  });

  it('are read over TLS of a root that is trusted, and of no other', async () => {
    await using secure = await ChartRegistry.start({ isTls: true });
    secure.tags.set('charts/podinfo', ['1.0.0']);
    expect(await askRegistry(secure.oci(), { caCertificate: secure.root })).toMatchObject({
      versions: versions('1.0.0'),
    });
    expect(await askRegistry(secure.oci())).toBe(
      `unusable: the certificate of ${secure.host} is not trusted (UNABLE_TO_GET_ISSUER_CERT_LOCALLY); give its root to the control plane in NODE_EXTRA_CA_CERTS`,
    );
  });

  it('are read with Basic where the registry asks for it, and nothing is sent before', async () => {
    registry.auth = { kind: 'basic', ...ROBOT };
    expect(await askRegistry(registry.oci(), { credential: ROBOT })).toEqual(ALL);
    expect(registry.asked.map(({ authorization }) => authorization)).toEqual([undefined, BASIC]);
  });

  it('are read with a token of the realm that the challenge names', async () => {
    registry.auth = { kind: 'bearer', ...ROBOT };
    expect(await askRegistry(registry.oci(), { credential: ROBOT })).toEqual(ALL);
    expect(registry.asked).toMatchObject([
      { authorization: undefined },
      {
        path: '/token?service=registry.test&scope=repository%3Acharts%2Fpodinfo%3Apull',
        authorization: BASIC,
      },
      { authorization: expect.stringMatching(/^Bearer [0-9a-f-]{36}$/) },
    ]);
  });

  it('are read with a token for anybody where the registry is public', async () => {
    registry.auth = { kind: 'bearer', ...ROBOT, isPublic: true };
    expect(await askRegistry(registry.oci())).toEqual(ALL);
    expect(registry.asked[1]?.authorization).toBeUndefined();
  });

  it.for(['the registry', 'the clock'] as const)('are read on with another token where %s ends one', async (who) => {
    registry.auth = { kind: 'bearer', ...ROBOT };
    registry.pageSize = 4;
    registry.tokenLifetime = 30;
    const clock = new HurriedClock();
    registry.interference = () => {
      // The third is the first page; the fourth asks for the second.
      if (who === 'the clock' && registry.asked.length === 3) clock.advance(40_000);
      if (who === 'the registry' && registry.asked.length === 4) registry.endTokens();
      return 'go on';
    };
    expect(await askRegistry(registry.oci(), { credential: ROBOT, clock })).toEqual(ALL);
    expect(registry.paths.filter((path) => path.startsWith('/token'))).toHaveLength(2);
  });

  it.for([
    [undefined, 'it wants a credential'],
    [{ username: 'robot', password: 'another' }, 'it does not take the credential'],
  ] as const)('are refused with credential %j, and it is said what to do', async ([credential, why]) => {
    for (const kind of ['basic', 'bearer'] as const) {
      registry.auth = { kind, ...ROBOT };
      const answer = await askRegistry(registry.oci(), credential === undefined ? {} : { credential });
      expect(answer).toBe(
        `refused: ${registry.host} refuses to list charts/podinfo (401): ${why}; set one with servicectl catalog login`,
      );
    }
  });

  it.for(['ftp://127.0.0.1/token', 'not an address', '', 'http://user:pw@127.0.0.1/token', 'http://192.0.2.2/token'])(
    'are not read with a token of the realm "%s", and no credential leaves',
    async (realm) => {
      registry.auth = { kind: 'bearer', ...ROBOT };
      registry.realm = realm;
      expect(await askRegistry(registry.oci(), { credential: ROBOT })).toMatch(/^unusable: /);
      expect(registry.asked.every(({ authorization }) => authorization === undefined)).toBe(true);
    },
  );

  it('asks a registry that speaks TLS for no token over http', async () => {
    await using secure = await ChartRegistry.start({ isTls: true });
    secure.auth = { kind: 'bearer', ...ROBOT };
    secure.realm = `${registry.origin}/token`;
    expect(await askRegistry(secure.oci(), { credential: ROBOT, caCertificate: secure.root })).toBe(
      `unusable: ${secure.host} names a place to log in at that is not an https:// address`,
    );
    expect(registry.asked).toEqual([]);
  });
});
