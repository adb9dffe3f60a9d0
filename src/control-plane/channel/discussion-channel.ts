import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import { newId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/parse.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Secret } from '../../runtime/secret.ts';
import type { Measuring } from '../metrics/control-plane-metrics.ts';
import type { MasterKey } from '../master-key.ts';
import type { ChannelWebhookRowRead } from '../store/channel-outbox.ts';
import { findWebhook, insertWebhook, listWebhooks } from '../store/channel-webhooks.ts';
import type { Store } from '../store/open-store.ts';
import type { Database } from '../store/schema.ts';
import type { Wakeups } from '../wakeups.ts';
import { ChannelSender } from './channel-sender.ts';
import { testBody } from './message-body.ts';
import { receiverFault } from './receiver-address.ts';
import type { Lookup } from '../guarded-lookup.ts';
import { WebhookClient, type PostOutcome } from './webhook-client.ts';
import { openWebhook, sealWebhook } from './webhook-seal.ts';
import { newWebhookSecret } from './webhook-signature.ts';

/** Of one organization: each message is sent to all of them. */
export const MAX_WEBHOOKS = 20;

export interface DiscussionChannelDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly masterKey: MasterKey;
  readonly clock: Clock;
  readonly random: () => number;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly logger: Logger;
  readonly measuring?: Pick<Measuring, 'count'>;
  /** Whether receivers may be in the network that this control plane stands in. */
  readonly allowPrivate: boolean;
  readonly lookup?: Lookup;
}

/** A webhook that is about to be added. Its key is shown this once. */
export interface NewChannelWebhook {
  readonly id: string;
  readonly host: string;
  readonly secret: Secret;
  readonly url_sealed: string;
  readonly secret_sealed: string;
}

/** The organizations' discussion channels as far as they leave this program: webhooks, and the loop that sends to them. */
export class DiscussionChannel implements AsyncDisposable {
  readonly #deps: DiscussionChannelDeps;
  readonly #client: WebhookClient;
  readonly #sender: ChannelSender;

  constructor(deps: DiscussionChannelDeps) {
    this.#deps = deps;
    const { clock, allowPrivate, lookup } = deps;
    this.#client = new WebhookClient({
      now: () => clock.now(),
      allowPrivate,
      ...(lookup === undefined ? {} : { lookup }),
    });
    this.#sender = new ChannelSender({ ...deps, client: this.#client });
  }

  /** Sends what waits, until aborted. */
  async run(stop: AbortSignal): Promise<void> {
    await this.#sender.run(stop);
  }

  /** One turn of sending, for who does not want to wait for the loop. */
  async send(stop: AbortSignal): Promise<boolean> {
    return await this.#sender.turn(stop);
  }

  /** @throws AppError `constraint_violated` for an address that may not be called; the message never quotes it */
  async prepareWebhook(url: Secret): Promise<NewChannelWebhook> {
    const fault = receiverFault(url.expose(), this.#deps);
    if (fault !== undefined) throw refusal([{ path: '/url', message: fault }]);
    const id = newId('hook', this.#deps.clock.now(), this.#deps.randomBytes);
    const secret = newWebhookSecret(this.#deps.randomBytes);
    const { host } = new URL(url.expose());
    return { id, host, secret, ...(await sealWebhook(this.#deps.masterKey, id, { url, secret })) };
  }

  /** @throws AppError `conflict` when there are as many as there may be, a unique violation when the name is taken */
  async insertWebhook(
    trx: Kysely<Database>,
    webhook: NewChannelWebhook,
    by: { readonly organizationId: string; readonly name: string; readonly createdBy: string },
  ): Promise<void> {
    const { length } = await listWebhooks(trx, by.organizationId);
    if (length >= MAX_WEBHOOKS) {
      throw new AppError('conflict', `an organization has ${MAX_WEBHOOKS} webhooks at the most; delete one first`);
    }
    const { id, host, url_sealed, secret_sealed } = webhook;
    await insertWebhook(trx, {
      id,
      host,
      url_sealed,
      secret_sealed,
      organization_id: by.organizationId,
      name: by.name,
      created_by: by.createdBy,
      created_at: this.#deps.clock.now().toISOString(),
    });
  }

  /** @throws AppError `not_found` */
  async requireWebhook(db: Kysely<Database>, organizationId: string, name: string): Promise<ChannelWebhookRowRead> {
    const webhook = await findWebhook(db, organizationId, name);
    if (webhook === undefined) throw new AppError('not_found', `there is no webhook ${name}`);
    return webhook;
  }

  /** Sends a test message past the queue; answers what came back. */
  async test(webhook: ChannelWebhookRowRead, stop: AbortSignal): Promise<PostOutcome> {
    const { clock, randomBytes, masterKey } = this.#deps;
    const now = clock.now();
    const id = `msg_test_${Buffer.from(randomBytes(9)).toString('base64url')}`;
    const body = testBody(id, now.toISOString(), webhook.name);
    return await this.#client.post(await openWebhook(masterKey, webhook), { id, body }, stop);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
  }
}
