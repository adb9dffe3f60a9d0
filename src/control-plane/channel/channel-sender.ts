import { backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Measuring } from '../metrics/control-plane-metrics.ts';
import type { MasterKey } from '../master-key.ts';
import {
  claimWebhook,
  headOf,
  releaseWebhook,
  settleFailed,
  settleRefused,
  settleSent,
  nextDueAt,
  webhooksDue,
  type ChannelWebhookRowRead,
} from '../store/channel-outbox.ts';
import { disableWebhook } from '../store/channel-webhooks.ts';
import type { Store } from '../store/open-store.ts';
import { CHANNEL_TOPIC } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';
import { messageBody } from './message-body.ts';
import { openWebhook } from './webhook-seal.ts';
import type { PostOutcome, WebhookClient } from './webhook-client.ts';

/** Webhooks that are sent to at once. */
const AT_ONCE = 8;
/** Messages to one webhook before the others have a turn. */
const IN_A_ROW = 20;
/** Longer than an attempt takes: who dies while sending holds a webhook up for this long. */
const CLAIM_MS = 30_000;
/** Another replica's messages are found by looking. */
const LOOK_MS = 15_000;
const RETRY = { minMs: 1000, maxMs: 15 * 60_000 };
/** A webhook that took nothing for so long is given up. */
export const GIVE_UP_AFTER_MS = 3 * 24 * 3_600_000;

export interface ChannelSenderDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly client: Pick<WebhookClient, 'post'>;
  readonly masterKey: MasterKey;
  readonly clock: Clock;
  readonly random: () => number;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly logger: Logger;
  readonly measuring?: Pick<Measuring, 'count'>;
}

/**
 * Sends what waits in the outbox, for each webhook in order and one message at a time. At least once: a message goes from
 * the outbox after its receiver took it, and bears the same id at each attempt.
 *
 * ```
 * waiting ── 2xx ──► gone from the outbox
 *    │ ▲
 *    │ └── 429, 5xx, no answer: next attempt after Retry-After or a backoff with jitter; what is behind it waits
 *    ├──── 400, 413, 415, 422: this message is dropped and counted
 *    └──── 404, 410, or nothing taken for three days: the webhook is given up with its reason
 * ```
 */
export class ChannelSender {
  readonly #deps: ChannelSenderDeps;
  /** Names this process in claims. */
  readonly #sender: string;

  constructor(deps: ChannelSenderDeps) {
    this.#deps = deps;
    this.#sender = Buffer.from(deps.randomBytes(9)).toString('base64url');
  }

  /** Runs until aborted. A turn that fails is tried again. */
  async run(stop: AbortSignal): Promise<void> {
    const { wakeups, logger } = this.#deps;
    while (!stop.aborted) {
      const seen = wakeups.version(CHANNEL_TOPIC);
      let wait = LOOK_MS;
      try {
        while (await this.turn(stop)) stop.throwIfAborted();
        wait = await this.#untilNext();
      } catch (error) {
        if (stop.aborted) return;
        logger.warn({ err: error }, 'channel messages not sent; trying again');
      }
      await wakeups.waitFor(CHANNEL_TOPIC, seen, stop, wait).catch((error: unknown) => {
        if (!stop.aborted) throw error;
      });
    }
  }

  /** Sends what is due now. @returns whether there was anything to send */
  async turn(stop: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#deps;
    const due = await webhooksDue(store.db, clock.now().toISOString(), this.#sender, 100);
    const waiting = [...due];
    const lanes = Array.from({ length: Math.min(AT_ONCE, due.length) }, async () => {
      for (let webhook = waiting.shift(); webhook !== undefined; webhook = waiting.shift()) {
        await this.#sendTo(webhook, stop);
      }
    });
    const ended = await Promise.allSettled(lanes);
    for (const lane of ended) if (lane.status === 'rejected') throw lane.reason;
    return due.length > 0;
  }

  async #untilNext(): Promise<number> {
    const { store, clock } = this.#deps;
    const next = await nextDueAt(store.db);
    if (next === undefined) return LOOK_MS;
    return Math.min(LOOK_MS, Math.max(RETRY.minMs, Date.parse(next) - clock.now().getTime()));
  }

  async #sendTo(webhook: ChannelWebhookRowRead, stop: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    try {
      for (let sent = 0; sent < IN_A_ROW && !stop.aborted; sent += 1) {
        if (!(await this.#claim(webhook.id))) return;
        const head = await headOf(store.db, webhook.id);
        if (head === undefined || Date.parse(head.nextAt) > clock.now().getTime()) return;
        const { message_key: id } = head.message;
        const outcome = await this.#post(webhook, { id, body: messageBody(head.message) }, stop);
        if ((await this.#settle(webhook, head, outcome)) === 'wait') return;
      }
    } finally {
      await store.write(async (trx) => await releaseWebhook(trx, webhook.id, this.#sender));
    }
  }

  async #claim(id: string): Promise<boolean> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const until = new Date(now.getTime() + CLAIM_MS).toISOString();
    const claim = { sender: this.#sender, now: now.toISOString(), until };
    return await store.write(async (trx) => await claimWebhook(trx, id, claim));
  }

  async #post(
    webhook: ChannelWebhookRowRead,
    message: { readonly id: string; readonly body: string },
    stop: AbortSignal,
  ): Promise<PostOutcome> {
    try {
      return await this.#deps.client.post(await openWebhook(this.#deps.masterKey, webhook), message, stop);
    } catch (error) {
      stop.throwIfAborted();
      this.#deps.logger.error({ err: error, webhook: webhook.id }, 'a webhook cannot be called');
      return { state: 'retry', answer: 'its stored address or key does not open; delete the webhook and add it again' };
    }
  }

  async #settle(
    webhook: ChannelWebhookRowRead,
    head: { readonly outboxId: number; readonly attempts: number },
    outcome: PostOutcome,
  ): Promise<'on' | 'wait'> {
    const { store, clock, random, logger, measuring } = this.#deps;
    measuring?.count('service_webhook_posts_total', { outcome: outcome.state });
    const now = clock.now();
    const at = now.toISOString();
    switch (outcome.state) {
      case 'taken':
        await store.write(async (trx) => await settleSent(trx, webhook.id, head.outboxId, at));
        return 'on';
      case 'refused':
        await store.write(async (trx) => await settleRefused(trx, webhook.id, head.outboxId, outcome.answer));
        return 'on';
      case 'gone':
        await this.#giveUp(webhook, at, `the receiver is gone: it ${outcome.answer}`);
        return 'wait';
      case 'retry': {
        const since = Date.parse(webhook.failing_since ?? at);
        if (now.getTime() - since >= GIVE_UP_AFTER_MS) {
          await this.#giveUp(webhook, at, `nothing was taken since ${webhook.failing_since ?? at}: ${outcome.answer}`);
          return 'wait';
        }
        const wait = Math.max(outcome.afterMs ?? 0, backoffMs(RETRY, head.attempts + 1, random));
        const nextAt = new Date(now.getTime() + wait).toISOString();
        const failure = { error: outcome.answer, at, nextAt };
        await store.write(async (trx) => await settleFailed(trx, webhook.id, head.outboxId, failure));
        logger.debug({ webhook: webhook.id, answer: outcome.answer, wait }, 'a channel message is sent again later');
        return 'wait';
      }
    }
  }

  async #giveUp(webhook: ChannelWebhookRowRead, at: string, reason: string): Promise<void> {
    this.#deps.logger.warn({ webhook: webhook.id, reason }, 'a webhook of the discussion channel is given up');
    await this.#deps.store.write(async (trx) => await disableWebhook(trx, webhook.id, at, reason));
  }
}
