import { CHANNEL_REASONS } from '../../events/ingest/channel-reasons.ts';
import type { ResourceRef } from '../../protocol/condition.ts';

/** Longest text of a message, in UTF-16 units; a condition's message may be 32 KiB. */
const MAX_TEXT = 2000;

/**
 * One message as a person reads it: `prod-eu: shop/podinfo 6.6.1 was upgraded: podinfo 6.6.1 runs as shop/podinfo`. Line
 * breaks, other control characters and changes of the direction of text become spaces, so that a message is one line and
 * reads as it is.
 */
export function messageText(outcome: {
  readonly slug: string;
  readonly resourceRef: ResourceRef;
  readonly reason: string;
  /** Version of the chart, where an intent is behind it. */
  readonly version: string | undefined;
  readonly message: string;
}): string {
  const { slug, resourceRef, reason, version, message } = outcome;
  const says = CHANNEL_REASONS.get(reason)?.says ?? reason;
  const { kind, namespace = '', name } = resourceRef;
  const object = kind === 'Cluster' ? '' : `${namespace === '' ? name : `${namespace}/${name}`} `;
  const what = `${slug}: ${object}${version === undefined ? '' : `${version} `}${says}`;
  const text = (message === '' ? what : `${what}: ${message}`)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .trim();
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1).toWellFormed()}…`;
}
