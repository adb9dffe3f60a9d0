import type { ResourceRef } from '../../protocol/condition.ts';
import type { StoredMessage } from '../store/channel-messages.ts';

/** Members of a message that a program reads; Slack's metadata takes flat values. */
type Payload = Readonly<Record<string, string | number>>;

/**
 * The body of a post that Slack's incoming webhooks take, and those of Mattermost and others after their model. `text` is
 * for people; `metadata` has the same for programs, in the form that Slack documents for it.
 */
export function messageBody(message: StoredMessage): string {
  return bodyOf(message.text, {
    id: message.message_key,
    at: message.at,
    category: message.category,
    reason: message.reason,
    text: message.text,
    ...(message.cluster_id === null ? {} : { cluster_id: message.cluster_id }),
    ...resourceOf(message.resource_ref),
  });
}

export function testBody(id: string, at: string, webhook: string): string {
  const text = `A test of webhook ${webhook}: messages of the discussion channel will arrive here.`;
  return bodyOf(text, { id, at, category: 'test', reason: 'WebhookTest', text });
}

function bodyOf(text: string, payload: Payload): string {
  return JSON.stringify({
    text: plainText(text),
    mrkdwn: false,
    metadata: { event_type: 'service_channel_message', event_payload: payload },
  });
}

/**
 * What a cluster reports must not mention everybody or hide an address behind words: `<`, `>` and `&` are escaped
 * (https://docs.slack.dev/messaging/formatting-message-text), and a mention in plain text is broken up.
 */
function plainText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/@(?=channel|here|all|everyone)/gi, '@\u200b');
}

function resourceOf(json: string | null): Payload {
  if (json === null) return {};
  const { apiVersion, kind, namespace, name } = JSON.parse(json) as ResourceRef;
  return { api_version: apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}
