import type { Secret } from '../../runtime/secret.ts';
import type { MasterKey } from '../master-key.ts';

interface Sealed {
  readonly url_sealed: string;
  readonly secret_sealed: string;
}

/** An address of this kind is itself a credential, so it is stored as the key is. */
export async function sealWebhook(
  masterKey: MasterKey,
  id: string,
  webhook: { readonly url: Secret; readonly secret: Secret },
): Promise<Sealed> {
  return {
    url_sealed: await masterKey.seal(webhook.url.expose(), `channel-webhook-url/${id}`),
    secret_sealed: await masterKey.seal(webhook.secret.expose(), `channel-webhook-secret/${id}`),
  };
}

/** @throws Error where the master key is another or the row was altered */
export async function openWebhook(
  masterKey: MasterKey,
  row: Sealed & { readonly id: string },
): Promise<{ readonly url: Secret; readonly secret: Secret }> {
  return {
    url: await masterKey.open(row.url_sealed, `channel-webhook-url/${row.id}`),
    secret: await masterKey.open(row.secret_sealed, `channel-webhook-secret/${row.id}`),
  };
}
