import { describe, expect, it } from 'vitest';
import { chartAddressFault } from '../../../src/control-plane/catalog/chart-address-fault.ts';

const OCI = 'must be oci://host/path/chart: a host, and the name of a repository, in lower case and without a tag';
const ASCII = 'must be of printable ASCII characters without a backslash';
const HOST = 'must have a host, and a port up to 65535 if any';
const DOTS = "must have no '.' and no '..' in its path";

describe("the address of an entry's chart", () => {
  it.for([
    ['oci', 'oci://host', OCI],
    ['oci', 'oci://host/', OCI],
    ['oci', 'oci:///podinfo', OCI],
    ['oci', 'oci://host/Charts/podinfo', OCI],
    ['oci', 'oci://host/charts/../podinfo', OCI],
    ['oci', 'oci://host/charts//podinfo', OCI],
    ['oci', 'oci://host/podinfo:1.0.0', OCI],
    ['oci', 'oci://host:99999/podinfo', OCI],
    ['oci', 'oci://host/pod\u0000info', ASCII],
    ['oci', 'oci://host/\u001b[31mpodinfo', ASCII],
    ['oci', 'oci://host\\podinfo/a', ASCII],
    ['oci', 'oci://host/pödinfo', ASCII],
    ['oci', 'https://host/podinfo', 'must begin with oci:// for type oci'],
    ['helm', 'oci://host/podinfo', 'must begin with https:// or http:// for type helm'],
    ['helm', 'https://host:99999/stable', HOST],
    ['helm', 'https:///stable', HOST],
    ['helm', 'https://ho%20st/stable', HOST],
    ['helm', 'https://host/a/../stable', DOTS],
    ['helm', 'https://host/a/%2E./stable', DOTS],
    ['helm', 'https://host/stable/.', DOTS],
    ['helm', 'https://host/sta\u0007ble', ASCII],
    ['helm', 'https://user@host/stable', 'must hold no user name or password'],
    ['helm', 'https://host/stable?x', 'must hold no query and no fragment: neither is part of where a chart is'],
  ] as const)('is refused as %s %j', ([type, url, fault]) => {
    expect(chartAddressFault({ type, url, name: 'podinfo' })).toBe(fault);
  });

  it.for([
    ['oci', 'oci://ghcr.io/stefanprodan/charts/podinfo'],
    ['oci', 'oci://127.0.0.1:5000/charts/podinfo/'],
    ['oci', 'oci://[::1]:5000/a_b/c--d/e.f'],
    ['helm', 'https://charts.example.com'],
    ['helm', 'http://127.0.0.1:8080/Stable/v1.0/..a/'],
  ] as const)('is taken as %s %j', ([type, url]) => {
    expect(chartAddressFault({ type, url, name: 'podinfo' })).toBeUndefined();
  });
});
