import type { LookupAddress } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { HostConnection } from '../../../src/control-plane/git-hosts/host-connection.ts';
import { openRemote } from '../../../src/git/remote/open-remote.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { Lookup } from '../../../src/control-plane/guarded-lookup.ts';
import { ConnectProxy } from './connect-proxy.ts';
import { FakeGitHost } from './fake-git-host.ts';

const NEVER = new AbortController().signal;

function lookupTo(...addresses: readonly string[]): Lookup {
  return (_name, _options, done) =>
    done(
      null,
      addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
}

describe('a connection to a Git host', () => {
  it.for([['10.1.2.3'], ['169.254.169.254'], ['127.0.0.1'], ['fd00::1'], ['93.184.216.34', '192.168.0.1']])(
    'is not made, nor by native git, where a name resolves into the own network: %o',
    async (addresses) => {
      await using connection = new HostConnection({ allowPrivate: false, lookup: lookupTo(...addresses) });
      const url = 'https://git.example.com/acme/fleet.git';
      const remote = openRemote({ url, fetchLike: connection.fetchLike, link: connection.native });
      const credential = { username: 'a', password: new Secret('b') };
      expect(await remote.advertise(credential, NEVER)).toEqual({
        state: 'rejected',
        rejection: 'unavailable',
        message:
          'the Git host cannot be reached: fetch failed: the name resolves to an address outside of the public network',
      });
      await expect(remote.native(credential)).rejects.toThrow('outside of the public network');
    },
  );

  it('is made by native git to the very address that was looked at', async () => {
    await using connection = new HostConnection({ allowPrivate: false, lookup: lookupTo('93.184.216.34') });
    const remote = openRemote({ url: 'https://git.example.com:8443/a/b.git', link: connection.native });
    await using native = await remote.native({ username: 'a', password: new Secret('b') });
    const settings = Object.values(native.environment);
    expect(settings).toContain('git.example.com:8443:93.184.216.34');
    expect(settings.filter((_, at) => settings[at - 1] === 'http.sslVerify')).toEqual(['true']);
  });

  it("is not made through a proxy in the own network, whatever the host's name is", async () => {
    await using proxy = await ConnectProxy.start('way', 'out');
    await using host = await FakeGitHost.start();
    const proxyUrl = `http://way:out@proxy.example.com:${proxy.address.split(':')[1]}`;
    await using connection = new HostConnection({ allowPrivate: false, lookup: lookupTo('127.0.0.1'), proxyUrl });
    await expect(connection.fetchLike(`${host.url}/`, { method: 'GET' })).rejects.toThrow('fetch failed');
    await expect(connection.native.resolve?.('git.example.com')).rejects.toThrow('outside of the public network');
    expect(proxy.tunnels).toEqual([]);
  });

  it('follows no redirect, whatever it is asked', async () => {
    await using host = await FakeGitHost.start();
    await using connection = new HostConnection({ allowPrivate: true, caCertificate: host.ca });
    host.api = () => ({ status: 302, body: {}, headers: { location: '/elsewhere' } });
    const answer = await connection.fetchLike(`${host.url}/api`, { method: 'GET', redirect: 'follow' });
    expect([answer.status, host.requests.map(({ url }) => url)]).toEqual([302, ['/api']]);
  });
});
