/**
 * The certificate in a header that a proxy adds, in any of the forms that proxies use:
 *
 * - URL-encoded PEM: nginx `$ssl_client_escaped_cert`, AWS ALB `X-Amzn-Mtls-Clientcert`
 * - PEM on one line, its line ends spaces: Apache `%{SSL_CLIENT_CERT}s`
 * - base64 of the DER form, with or without the colons of RFC 9440: Traefik, HAProxy `%[ssl_c_der,base64]`, `Client-Cert`
 * - `Cert="<URL-encoded PEM>"` in one element of Envoy's `x-forwarded-client-cert`
 *
 * Of a chain the first one counts. A list of two elements is none: what stands before the proxy's own may be the client's.
 *
 * @returns DER; undefined for what is none of these
 */
export function certificateIn(header: string): Buffer | undefined {
  const forwarded = forwardedCertificate(header);
  const text = decode(forwarded ?? header)?.trim();
  if (text === undefined) return undefined;
  const [, pem] =
    /^-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----[-A-Za-z0-9+/=\s]*$/.exec(text) ?? [];
  // Traefik sends the chain as a list; a header that was sent twice is joined with a space after the comma.
  const base64 = pem ?? /^:?([A-Za-z0-9+/]+={0,2}):?(?:,[A-Za-z0-9+/=,]+)?$/.exec(text)?.[1];
  return base64 === undefined ? undefined : Buffer.from(base64.replaceAll(/\s/g, ''), 'base64');
}

/** The value of `Cert` in the one element of `x-forwarded-client-cert`; undefined where the header is not that. */
function forwardedCertificate(header: string): string | undefined {
  const pairs: string[] = [];
  let rest = header;
  while (rest !== '') {
    const [whole = '', pair = ''] = /^([A-Za-z]+=(?:"(?:[^"\\]|\\.)*"|[^",;]*))(?:;|$)/.exec(rest) ?? [];
    if (whole === '') return undefined;
    pairs.push(pair);
    rest = rest.slice(whole.length);
  }
  const certificates = pairs.filter((pair) => /^cert=/i.test(pair));
  return certificates.length === 1 ? certificates[0]?.slice('cert='.length).replaceAll(/^"|"$/g, '') : undefined;
}

function decode(text: string): string | undefined {
  try {
    // Not as a form: a plus is a plus, which base64 has.
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
