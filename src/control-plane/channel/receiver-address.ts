import { BlockList, isIP } from 'node:net';

/**
 * What is not the public network, by the registries of special-purpose addresses (RFC 6890): whatever is not globally
 * reachable there, and what is kept for documentation.
 */
const PRIVATE_4 = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  // Relays of 6to4, which nobody should run any more.
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  PRIVATE_4.addSubnet(network, bits, 'ipv4');
}
// A list of its own: Node takes an IPv4 address for the IPv6 one that it maps to.
const PRIVATE_6 = new BlockList();
for (const [network, bits] of [
  // All that is not global unicast (2000::/3): loopback, IPv4 inside of IPv6, translated, local, multicast.
  ['::', 3],
  ['4000::', 2],
  ['8000::', 1],
  // For protocols: Teredo, which holds an IPv4 address, benchmarks, identifiers that are no addresses.
  ['2001::', 23],
  ['2001:db8::', 32],
  // 6to4, which holds an IPv4 address.
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  PRIVATE_6.addSubnet(network, bits, 'ipv6');
}

/** What is an IPv4 address in its last 32 bits, and goes where that one goes: mapped, and NAT64's. */
const HOLDS_IPV4 = new BlockList();
HOLDS_IPV4.addSubnet('::ffff:0:0', 96, 'ipv6');
HOLDS_IPV4.addSubnet('64:ff9b::', 96, 'ipv6');

/** Whether an IP address is not one of the public network, IPv4 inside of IPv6 included. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return true;
  if (family === 4) return PRIVATE_4.check(address, 'ipv4');
  if (HOLDS_IPV4.check(address, 'ipv6')) return PRIVATE_4.check(lastFour(address), 'ipv4');
  return PRIVATE_6.check(address, 'ipv6');
}

/** The IPv4 address in the last 32 bits. */
function lastFour(address: string): string {
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1);
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':');
  const [high = '', low = ''] = groups.slice(-2);
  const bits = (Number.parseInt(high === '' ? '0' : high, 16) << 16) | Number.parseInt(low === '' ? '0' : low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.');
}

const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Why an address cannot be a receiver's; undefined: it can. What its name resolves to is looked at when it is called.
 *
 * @param options.allowPrivate whether the network that this control plane stands in may be called
 */
export function receiverFault(text: string, options: { readonly allowPrivate: boolean }): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return 'must be an https:// address';
  const isLoopback = LOOPBACK_HOSTS.includes(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback)) {
    return 'must be an https:// address; http:// is for this machine alone';
  }
  if (url.username !== '' || url.password !== '') return 'must not hold a user or a password';
  if (url.hash !== '') return 'must not hold a fragment';
  if (options.allowPrivate) return undefined;
  // A name with a dot at its end is the same name.
  const hostname = url.hostname.replace(/\.$/, '');
  const address = hostname.replace(/^\[(.*)\]$/, '$1');
  if (
    LOOPBACK_HOSTS.includes(hostname) ||
    hostname.endsWith('.localhost') ||
    (isIP(address) !== 0 && isPrivateAddress(address))
  ) {
    return 'must be an address of the public network; SERVICE_CHANNEL_ALLOW_PRIVATE=true allows others';
  }
  return undefined;
}
