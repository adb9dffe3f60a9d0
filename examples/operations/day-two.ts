import { readdir, readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { join } from 'node:path';
import { parse } from 'yaml';
import { AdminApiError, AdminClient } from '../../src/cli/admin-client.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Secret } from '../../src/runtime/secret.ts';
import type { ObjectRef } from '../../src/resources/kube-object.ts';
import type { Progress } from '../first-app/progress.ts';
import type { Stage } from '../first-app/stage.ts';
import { AUDIT, CHANNEL, ENDS } from './expected.ts';

const HERE = import.meta.dirname;
const WAIT_MS = 60_000;
const LOOK_MS = 50;

interface Intent {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
}
interface AuditEntry {
  readonly source: 'user' | 'agent';
  readonly kind: string;
  readonly actor?: string;
  readonly summary: string;
  readonly reason?: string;
}

/** What happened, for a program. */
export interface Told {
  readonly ok: boolean;
  /** `<name>: <state of its intent>[, <reason>]` */
  readonly ends: readonly string[];
  /** What people did, and what the cluster told, each in its order: how the two meet is a matter of milliseconds. */
  readonly audit: { readonly user: readonly string[]; readonly agent: readonly string[] };
  readonly channel: readonly string[];
  /** What of it was not as expected, in words. */
  readonly differences: readonly string[];
}

/** The scenes of the example. */
export class DayTwo {
  readonly #stage: Stage;
  readonly #progress: Progress;
  readonly #ends: string[] = [];
  readonly #differences: string[] = [];
  /** What differs from run to run, by what stands for it. */
  readonly #names = new Map<string, string>();

  constructor(deps: { readonly stage: Stage; readonly progress: Progress }) {
    this.#stage = deps.stage;
    this.#progress = deps.progress;
  }

  async run(): Promise<Told> {
    const { admin, api } = this.#stage;
    const [backup, restore, restart, scale, cancelled, late] = await this.#intents();
    const ada = await this.#person('ada', []);
    const grace = await this.#person('grace', ['data-owner']);
    await admin.call('PUT', '/operation-templates/velero-restore', {
      approval: { count: 1, roles: { 'data-owner': 1 } },
    });
    const { name, ...reindex } = parse(await readFile(join(HERE, 'reindex.yaml'), 'utf8')) as { readonly name: string };
    await admin.call('PUT', `/operation-templates/${name}`, reindex);
    this.#say('\npeople         ada asks; a restore needs an approval by a data-owner, as grace is one');

    await this.#untilEnd(await this.#ask(ada, backup));
    await api.delete({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'settings' });
    this.#say('\nSomebody deletes the settings. Ada asks for a restore.');
    const asked = await this.#ask(ada, restore);
    this.#say(`her approval   refused: ${await this.#refusal(ada, asked)}`);
    await grace.call('POST', `/intents/${asked}/approve`, { comment: 'the backup is of this morning' });
    this.#say('grace approves');
    await this.#untilEnd(asked);
    await this.#shows(
      'settings',
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'settings' },
      ['data', 'currency'],
      'EUR',
    );

    await this.#untilEnd(await this.#ask(ada, restart));
    await this.#untilEnd(await this.#ask(ada, scale));
    await this.#shows('web', { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, ['spec', 'replicas'], 4);
    const toCancel = await this.#ask(ada, cancelled);
    await this.#untilRunning('reindex-north');
    const { cancellation } = await ada.call<{ readonly cancellation: Intent }>('POST', `/intents/${toCancel}/cancel`, {
      reason: 'the wrong shard',
    });
    this.#names.set(cancellation.id, 'its cancellation');
    await this.#untilEnd(toCancel);
    await this.#untilEnd(cancellation.id);
    await this.#untilEnd(await this.#ask(ada, late));
    return await this.#compare();
  }

  async #intents(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const folder = join(HERE, 'intents');
    const files = (await readdir(folder)).toSorted();
    return await Promise.all(
      files.map(async (file) => parse(await readFile(join(folder, file), 'utf8')) as Readonly<Record<string, unknown>>),
    );
  }

  async #person(name: string, roles: readonly string[]): Promise<AdminClient> {
    const { admin, controlPlaneUrl: baseUrl } = this.#stage;
    const { token } = await admin.call<{ token: string }>('POST', '/admin-tokens', { name, roles });
    return new AdminClient({ baseUrl, token: new Secret(token) });
  }

  async #ask(by: AdminClient, request: Readonly<Record<string, unknown>> | undefined): Promise<string> {
    const { id } = await by.call<Intent>('POST', `/clusters/${this.#stage.clusterId}/intents`, request);
    this.#names.set(id, `intent of ${String(request?.['name'])}`);
    return id;
  }

  async #refusal(by: AdminClient, id: string): Promise<string> {
    try {
      await by.call('POST', `/intents/${id}/approve`, {});
      return 'it was not';
    } catch (error) {
      if (!(error instanceof AdminApiError)) throw error;
      return error.message;
    }
  }

  async #untilRunning(name: string): Promise<void> {
    const { admin, clusterId } = this.#stage;
    const path = `/clusters/${clusterId}/operations?limit=1`;
    await this.#until(
      `operation ${name} to run`,
      async () => await admin.call<{ items: readonly { name: string; phase?: string }[] }>('GET', path),
      ({ items: [newest] }) => newest?.name === name && newest.phase === 'Running',
    );
  }

  async #untilEnd(id: string): Promise<void> {
    const { admin } = this.#stage;
    const { name, state, reason } = await this.#until(
      `intent ${id} to end`,
      async () => await admin.call<Intent>('GET', `/intents/${id}`),
      (intent) => ['ready', 'failed', 'superseded'].includes(intent.state),
    );
    const end = this.#plain(`${name}: ${state}${reason === undefined ? '' : `, ${reason}`}`);
    this.#ends.push(end);
    const what = this.#names.get(id) === 'its cancellation' ? ' (its cancellation)' : '';
    this.#say(`ended          ${end}${what}`);
  }

  /** What an operation was for must be seen in the cluster, not only in its outcome. */
  async #shows(
    what: string,
    kind: Omit<ObjectRef, 'namespace'>,
    path: readonly string[],
    expected: unknown,
  ): Promise<void> {
    const live: unknown = await this.#stage.api.get({ ...kind, namespace: 'shop' });
    const found = path.reduce<unknown>((node, member) => (node as Record<string, unknown> | undefined)?.[member], live);
    const text = `${what} ${path.join('.')} ${JSON.stringify(found)}`;
    this.#say(`in the cluster ${text}`);
    if (found !== expected) this.#differences.push(`${text} | expected: ${JSON.stringify(expected)}`);
  }

  async #compare(): Promise<Told> {
    const { admin } = this.#stage;
    // An intent may have ended by its job before the events about its object have come.
    const entries = await this.#until(
      'the audit to be whole',
      async () => await this.#all<AuditEntry>(admin, '/audit'),
      ({ length }) => length >= AUDIT.user.length + AUDIT.agent.length,
    );
    const of = (source: AuditEntry['source']): readonly string[] =>
      entries.filter((entry) => entry.source === source).map((entry) => this.#plain(lineOf(entry)));
    const audit = { user: of('user'), agent: of('agent') };
    const channel = (await this.#all<{ readonly text: string }>(admin, '/channel')).map(({ text }) =>
      this.#plain(text),
    );
    const differences = [
      ...this.#differences,
      ...differencesOf('ends', this.#ends, ENDS),
      ...differencesOf('audit of people', audit.user, AUDIT.user),
      ...differencesOf('audit of the cluster', audit.agent, AUDIT.agent),
      ...differencesOf('channel', channel, CHANNEL),
    ];
    this.#say(`\naudit          ${entries.length} entries; what people did:`);
    for (const line of audit.user) this.#say(`  ${line}`);
    this.#say('what the cluster told:');
    for (const line of audit.agent) this.#say(`  ${line}`);
    this.#say(`\nchannel        ${channel.length} messages`);
    for (const line of channel) this.#say(`  ${line}`);
    for (const difference of differences) this.#say(`not expected   ${difference}`);
    return { ok: differences.length === 0, ends: this.#ends, audit, channel, differences };
  }

  /** The oldest first. */
  async #all<T>(admin: AdminClient, path: string): Promise<T[]> {
    const found: T[] = [];
    for (let cursor: string | undefined; ;) {
      const query = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await admin.call<{ items: readonly T[]; nextCursor?: string }>('GET', `${path}?limit=100${query}`);
      found.push(...page.items);
      cursor = page.nextCursor;
      if (cursor === undefined) return found.toReversed();
    }
  }

  /** Without what differs from run to run. */
  #plain(text: string): string {
    let plain = text.replaceAll(this.#stage.clusterId, '<cluster>');
    for (const [id, name] of this.#names) plain = plain.replaceAll(id, `<${name}>`);
    return (
      plain
        .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
        // A namespace holds a few things of the cluster's own.
        .replace(/\b\d+ items\b/g, '<n> items')
        .replace(/\bint-[0-9a-z]{26}\b/g, '<intent>')
        .replace(/\bapr-[0-9a-z]{26}\b/g, '<approval>')
    );
  }

  async #until<T extends object>(what: string, look: () => Promise<T>, isThere: (seen: T) => boolean): Promise<T> {
    const deadline = performance.now() + WAIT_MS;
    for (;;) {
      const seen = await look();
      if (isThere(seen)) return seen;
      if (performance.now() > deadline)
        throw new Error(`waited ${WAIT_MS / 1000} s for ${what}; it is ${JSON.stringify(seen)}`);
      await systemClock.sleep(LOOK_MS);
    }
  }

  #say(text: string): void {
    this.#progress.note(text);
  }
}

function lineOf({ kind, actor, summary, reason }: AuditEntry): string {
  return `${kind}${actor === undefined ? '' : ` by ${actor}`}: ${summary}${reason === undefined ? '' : ` (${reason})`}`;
}

function differencesOf(what: string, told: readonly string[], expected: readonly string[]): string[] {
  if (isDeepStrictEqual(told, expected)) return [];
  const lines = Math.max(told.length, expected.length);
  return Array.from({ length: lines }, (_, index) => index)
    .filter((index) => told[index] !== expected[index])
    .map(
      (index) => `${what} ${index + 1}: ${told[index] ?? '(nothing)'} | expected: ${expected[index] ?? '(nothing)'}`,
    );
}
