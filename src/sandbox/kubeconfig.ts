import { stringify } from 'yaml';
import type { Secret } from '../runtime/secret.ts';

/** A kubeconfig that kubectl takes, with the token in it: for a file of mode 0600 or a Secret, never for a log. */
export function kubeconfigText(input: {
  readonly url: string;
  readonly token: Secret;
  /** PEM of what signed the server's certificate; only with HTTPS. */
  readonly ca: string | undefined;
}): string {
  const { url, token, ca } = input;
  const trust = ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'sandbox', cluster: { server: url, ...trust } }],
    users: [{ name: 'admin', user: { token: token.expose() } }],
    contexts: [{ name: 'sandbox', context: { cluster: 'sandbox', user: 'admin', namespace: 'default' } }],
    'current-context': 'sandbox',
  });
}
