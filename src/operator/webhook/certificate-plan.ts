import { createPrivateKey, X509Certificate } from 'node:crypto';
import { SERVING_LIFETIME_MS, type CertifiedKey } from './webhook-certificate.ts';

/** What the Secret holds: the authority that signs, those before it, and what is served. */
export interface WebhookKeys {
  readonly authority: CertifiedKey;
  /** Certificates of retired authorities: still trusted, their keys are gone. */
  readonly retired: readonly string[];
  readonly serving: CertifiedKey;
}

/** What has to be made anew. Nothing: all of it may go on. */
export interface CertificatePlan {
  /** Everything: there is nothing that can be used. */
  readonly start: boolean;
  readonly authority: boolean;
  readonly serving: boolean;
  /** Authorities that nothing needs any more. */
  readonly forget: readonly string[];
}

/** Rotation comes at two thirds of a lifetime: a month ahead for what is served, three years for an authority. */
const DUE = 2 / 3;
const NOTHING: CertificatePlan = { start: false, authority: false, serving: false, forget: [] };

/**
 *     authority A ──2/3──► B signs, bundle A + B ──bundle is in the configuration──► serving certificate by B
 *                                   │
 *                                   └── no certificate by A can be valid any more ──► bundle B
 *
 * @param published the webhook configuration trusts every authority of these keys, or there is none that could
 */
export function planCertificates(
  keys: WebhookKeys | undefined,
  { names, published, now }: { readonly names: readonly string[]; readonly published: boolean; readonly now: Date },
): CertificatePlan {
  const read = keys === undefined ? undefined : readKeys(keys);
  if (keys === undefined || read === undefined) return { ...NOTHING, start: true };
  const { authority, serving } = read;
  const at = now.getTime();
  if (at >= authority.validToDate.getTime()) return { ...NOTHING, start: true };
  const isByAuthority = serving.checkIssued(authority) && serving.verify(authority.publicKey);
  const isUsable = at < serving.validToDate.getTime() && names.every((name) => serving.checkHost(name) !== undefined);
  const forget = at >= authority.validFromDate.getTime() + SERVING_LIFETIME_MS ? keys.retired : [];
  return {
    start: false,
    // One overlap at a time, and never before something valid is served, which the old authority still signs.
    authority: isDue(authority, at) && isByAuthority && isUsable,
    serving: !isUsable || (published && (!isByAuthority || isDue(serving, at))),
    forget: isByAuthority ? forget : [],
  };
}

/** When what is served ends, for those who watch over it. */
export function servingEnds(keys: WebhookKeys): Date {
  return new X509Certificate(keys.serving.certificate).validToDate;
}

/** Authorities to trust, the newest first: what goes into `caBundle`. */
export function bundleOf(keys: WebhookKeys): string {
  return [keys.authority.certificate, ...keys.retired].map((pem) => `${pem.trim()}\n`).join('');
}

function isDue({ validFromDate, validToDate }: X509Certificate, at: number): boolean {
  const from = validFromDate.getTime();
  return at >= from + (validToDate.getTime() - from) * DUE;
}

/** Undefined when a part cannot be read or does not belong to its key: somebody edited the Secret. */
function readKeys(
  keys: WebhookKeys,
): { readonly authority: X509Certificate; readonly serving: X509Certificate } | undefined {
  try {
    const authority = new X509Certificate(keys.authority.certificate);
    const serving = new X509Certificate(keys.serving.certificate);
    const fits =
      authority.ca &&
      authority.checkPrivateKey(createPrivateKey(keys.authority.key.expose())) &&
      serving.checkPrivateKey(createPrivateKey(keys.serving.key.expose()));
    for (const pem of keys.retired) new X509Certificate(pem).toString();
    return fits ? { authority, serving } : undefined;
  } catch {
    return undefined;
  }
}
