import { describe, expect, it } from 'vitest';
import { certificateIn } from '../../../src/control-plane/http/agent/certificate-header.ts';
import { newOtherAuthority } from '../../support/client-key.ts';

const { certificate: pem } = await newOtherAuthority(new Date());
const base64 = pem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
const der = Buffer.from(base64, 'base64');

describe('certificateIn', () => {
  it.each<[string, string]>([
    ['nginx $ssl_client_escaped_cert, AWS ALB', encodeURIComponent(pem)],
    ['an ALB, which leaves + and / as they are', encodeURIComponent(pem).replaceAll('%2B', '+').replaceAll('%2F', '/')],
    ['Apache: line ends as spaces', pem.trim().replaceAll('\n', ' ')],
    ['Traefik, HAProxy: base64 of the DER form', base64],
    ['Traefik with a chain', `${base64},${base64}`],
    ['Traefik with escapes', encodeURIComponent(base64)],
    ['RFC 9440', `:${base64}:`],
    ['Envoy', `By=spiffe://a/b;Hash=00ff;Cert="${encodeURIComponent(pem)}";Subject="CN=a, O=\\"b\\"";URI=`],
    ['Envoy with a chain', `Hash=0;Cert="${encodeURIComponent(pem)}";Chain="${encodeURIComponent(pem + pem)}"`],
  ])('reads the form of %s', (_, header) => {
    expect(certificateIn(header)?.equals(der)).toBe(true);
  });

  it.each<[string, string]>([
    ['nothing', ''],
    ["Apache's word for none", '(null)'],
    ['a header that came twice', `${encodeURIComponent(pem)}, ${encodeURIComponent(pem)}`],
    ['base64 that came twice', `${base64}, ${base64}`],
    ['two elements of Envoy, the first of which may be the client’s', `Cert="${encodeURIComponent(pem)}",Hash=0`],
    ['two certificates in one element', `Cert="${encodeURIComponent(pem)}";Cert="${encodeURIComponent(pem)}"`],
    ['an element of Envoy without one', 'By=a;Hash=b'],
    ['an escape that is none', `%zz${encodeURIComponent(pem)}`],
    ['a private key', '-----BEGIN PRIVATE KEY-----AAAA-----END PRIVATE KEY-----'],
  ])('takes %s for no certificate', (_, header) => {
    expect(certificateIn(header)).toBeUndefined();
  });
});
