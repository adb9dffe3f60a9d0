import type { Generated } from 'kysely';

/** One message of an organization's discussion channel. */
export interface ChannelMessageRow {
  id: Generated<number>;
  /** The same for the same outcome, however often it is reported; receivers see it as the id of the message. */
  message_key: string;
  organization_id: string;
  at: string;
  cluster_id: string | null;
  category: 'deploy' | 'backup' | 'credential';
  reason: string;
  text: string;
  /** JSON `ResourceRef`. */
  resource_ref: string | null;
  /** `<event kind>/<condition type>` of what told it, and when that was: one outcome can stand in two conditions. */
  told_by: string;
  told_at: string;
  event_seq: number | null;
  /** Of a deploy: which object it is of, and `good` or `bad` with the digest of its outcome; see `Standing`. */
  object_key: string | null;
  standing: string | null;
}

/** Where an organization's channel is also sent. Address and key are secrets. */
export interface ChannelWebhookRow {
  id: string;
  organization_id: string;
  name: string;
  /** Of the address; the rest of it is a secret. */
  host: string;
  url_sealed: string;
  secret_sealed: string;
  created_by: string;
  created_at: string;
  disabled_at: string | null;
  /** Why it was given up, for people. */
  disabled_reason: string | null;
  /** Since when nothing was taken; null after a success. */
  failing_since: string | null;
  last_error: string | null;
  last_sent_at: string | null;
  /** Messages that were given up: the queue was full, or the receiver refused them for good. */
  dropped: Generated<number>;
  /** Which process sends now, and until when nobody else may. */
  claimed_by: string | null;
  claimed_until: string | null;
}

/** What is still to be sent, in the order of `id`; a row goes when it was taken. */
export interface ChannelOutboxRow {
  id: Generated<number>;
  webhook_id: string;
  message_id: number;
  attempts: number;
  next_at: string;
}
