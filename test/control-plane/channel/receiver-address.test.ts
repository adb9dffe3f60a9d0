import { describe, expect, it } from 'vitest';
import { isPrivateAddress, receiverFault } from '../../../src/control-plane/channel/receiver-address.ts';

describe('isPrivateAddress', () => {
  it.for([
    '127.0.0.1',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1',
    'fd00::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '64:ff9b::10.0.0.1',
    '64:ff9b::a00:1',
    '2002:7f00:1::',
    '::169.254.169.254',
    '::a9fe:a9fe',
    '::ffff:0:127.0.0.1',
    '::ffff:0:7f00:1',
    '64:ff9b::169.254.169.254',
    '192.0.2.1',
    '192.88.99.1',
    '198.51.100.1',
    '203.0.113.1',
    '::ffff:192.0.2.1',
    '64:ff9b::192.88.99.1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '2001:2::1',
    '2001:20::1',
    '2001:db8::1',
    '3fff::1',
    '3fff:fff:ffff::1',
    '4000::1',
    '5f00::1',
    '8000::1',
    'fec0::1',
    'not an address',
  ])('holds for %s', (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });

  it.for([
    '1.1.1.1',
    '172.32.0.1',
    '192.0.3.1',
    '192.88.98.1',
    '2001:200::1',
    '2001:db7::1',
    '2606:4700::1111',
    '3fff:1000::1',
    '::ffff:1.1.1.1',
    '64:ff9b::101:101',
  ])('does not hold for %s', (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  });
});

describe('receiverFault', () => {
  it.for([
    'https://hooks.slack.com/services/T0/B0/x',
    'https://chat.example.com:8443/hooks/x?y=z',
    'https://1.1.1.1/x',
  ])('finds nothing wrong with %s', (url) => {
    expect(receiverFault(url, { allowPrivate: false })).toBeUndefined();
  });

  it.for([
    ['nonsense', 'must be an https:// address'],
    ['http://hooks.slack.com/x', 'http:// is for this machine alone'],
    ['ftp://hooks.slack.com/x', 'must be an https:// address'],
    ['https://user:pass@hooks.slack.com/x', 'a user or a password'],
    ['https://hooks.slack.com/x#y', 'a fragment'],
    ['https://127.0.0.1/x', 'public network'],
    ['https://0x7f.1/x', 'public network'],
    ['https://2130706433/x', 'public network'],
    ['https://[::ffff:10.0.0.1]/x', 'public network'],
    ['https://localhost/x', 'public network'],
    ['https://a.localhost/x', 'public network'],
    ['http://127.0.0.1:8080/x', 'public network'],
  ] as const)('refuses %s', ([url, why]) => {
    expect(receiverFault(url, { allowPrivate: false })).toContain(why);
  });

  it('takes private addresses where they are allowed, and http for this machine alone', () => {
    for (const url of ['https://10.0.0.1/x', 'http://localhost:1/x', 'http://[::1]:1/x']) {
      expect(receiverFault(url, { allowPrivate: true })).toBeUndefined();
    }
    expect(receiverFault('http://10.0.0.1/x', { allowPrivate: true })).toContain('http:// is for this machine alone');
  });
});
