import { AdminApiError, AdminClient } from '../../src/cli/admin-client.ts';
import { diffText, type ListedProposal, type ShownDiff } from '../../src/cli/proposal-text.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Secret } from '../../src/runtime/secret.ts';
import type { Progress } from '../first-app/progress.ts';
import type { Stage } from '../first-app/stage.ts';

/** What happened, for a program. */
export interface Told {
  readonly ok: boolean;
  readonly upgrade: { readonly state: string; readonly commit?: string; readonly approvedBy: readonly string[] };
  /** Why the author was not let approve. */
  readonly refused: string;
  readonly stale: { readonly state: string; readonly revisions: number; readonly droppedApprovals: number };
}

interface Intent {
  readonly id: string;
  readonly state: string;
  readonly reason?: string;
  readonly proposal?: { readonly id: string };
  readonly receipt?: { readonly commit?: string };
}

const WAIT_MS = 60_000;

/** The scenes of the example. */
export class ProposalReview {
  readonly #stage: Stage;
  readonly #progress: Progress;

  constructor(deps: { readonly stage: Stage; readonly progress: Progress }) {
    this.#stage = deps.stage;
    this.#progress = deps.progress;
  }

  async run(): Promise<Told> {
    const author = await this.#person('anna', []);
    const reviewer = await this.#person('bert', ['security']);
    this.#say(`\npeople         anna asks, bert reviews as security; an approval by security is required`);

    const installed = await this.#propose(author, { action: 'install', chartVersion: '6.5.0' });
    await this.#act(reviewer, installed, 'approve');
    await this.#untilIntent(installed.intentId, 'ready');
    this.#say('installed      podinfo 6.5.0, proposed by anna, approved by bert, ready');

    this.#say('\nAnna proposes an upgrade.');
    const upgrade = await this.#propose(author, { action: 'update', chartVersion: '6.6.0' });
    const refused = await this.#refusal(author, upgrade);
    this.#say(`her approval   refused: ${refused}`);
    const diff = await reviewer.call<ShownDiff>('GET', `/proposals/${upgrade.id}/diff`);
    this.#say(`bert reads     ${diffText(diff, false).trimEnd().replaceAll('\n', '\n               ')}`);
    await this.#act(reviewer, upgrade, 'approve', 'tried it on staging');
    const merged = await this.#untilProposal(upgrade.id, ({ state }) => state === 'merged');
    const ready = await this.#untilIntent(upgrade.intentId, 'ready');
    this.#say(`bert approves  merged as ${merged.mergedCommit?.slice(0, 12)}, applied, ready`);

    const stale = await this.#goStale(author, reviewer);
    const told = {
      upgrade: {
        state: ready.state,
        ...(ready.receipt?.commit === undefined ? {} : { commit: ready.receipt.commit }),
        approvedBy: merged.approvals.given,
      },
      refused,
      stale,
    };
    const ok =
      ready.state === 'ready' &&
      ready.receipt?.commit === merged.mergedCommit &&
      stale.state === 'ready' &&
      stale.revisions === 2;
    return { ok, ...told };
  }

  /** Between the proposal and its approval the catalog's defaults change: it would not become what bert has read. */
  async #goStale(author: AdminClient, reviewer: AdminClient): Promise<Told['stale']> {
    this.#say('\nAnna proposes another upgrade; then the defaults in the catalog change.');
    const proposal = await this.#propose(author, { action: 'update', chartVersion: '6.6.1' });
    const { admin } = this.#stage;
    const { items } = await admin.call<{ items: readonly { name: string; defaultValues?: object }[] }>(
      'GET',
      '/catalog',
    );
    const entry = items.find(({ name }) => name === 'podinfo');
    const { name: _, updatedAt: __, ...body } = { updatedAt: '', name: '', ...entry };
    await admin.call('PUT', '/catalog/podinfo', {
      ...body,
      defaultValues: { ...entry?.defaultValues, ui: { message: 'a new default' } },
    });
    await this.#act(reviewer, proposal, 'approve');
    const again = await this.#untilProposal(
      proposal.id,
      ({ state, revision, blobs }) => state === 'open' && revision === 2 && blobs.length > 0,
    );
    const dropped = again.reviews.filter(({ droppedAt }) => droppedAt !== undefined).length;
    this.#say(`stale          what was approved is not what would be merged: revision 2, ${dropped} approval dropped`);
    await this.#act(reviewer, again, 'approve', 'with the new default');
    await this.#untilProposal(proposal.id, ({ state }) => state === 'merged');
    const { state } = await this.#untilIntent(proposal.intentId, 'ready');
    this.#say('bert approves  revision 2, merged, applied, ready');
    return { state, revisions: again.revision, droppedApprovals: dropped };
  }

  async #person(name: string, roles: readonly string[]): Promise<AdminClient> {
    const { admin, controlPlaneUrl: baseUrl } = this.#stage;
    const { token } = await admin.call<{ token: string }>('POST', '/admin-tokens', { name, roles });
    return new AdminClient({ baseUrl, token: new Secret(token) });
  }

  async #propose(author: AdminClient, change: Readonly<Record<string, string>>): Promise<ListedProposal> {
    const asked = { namespace: 'shop', name: 'podinfo', catalogEntry: 'podinfo', ...change };
    const { id } = await author.call<Intent>('POST', `/clusters/${this.#stage.clusterId}/intents`, asked);
    const intent = await this.#until(
      `intent ${id} to be proposed`,
      async () => await author.call<Intent>('GET', `/intents/${id}`),
      ({ proposal }) => proposal !== undefined,
    );
    const proposal = await author.call<ListedProposal>('GET', `/proposals/${intent.proposal?.id}`);
    this.#say(`proposed       ${proposal.title}, on branch ${proposal.branch}`);
    return proposal;
  }

  async #act(by: AdminClient, { id, revision }: ListedProposal, verb: string, comment?: string): Promise<void> {
    await by.call('POST', `/proposals/${id}/${verb}`, { revision, ...(comment === undefined ? {} : { comment }) });
  }

  async #refusal(by: AdminClient, proposal: ListedProposal): Promise<string> {
    try {
      await this.#act(by, proposal, 'approve');
      return '';
    } catch (error) {
      if (!(error instanceof AdminApiError)) throw error;
      return `${error.status} ${error.code}`;
    }
  }

  async #untilProposal(id: string, isThere: (proposal: ListedProposal) => boolean): Promise<ListedProposal> {
    const { admin } = this.#stage;
    return await this.#until(
      `proposal ${id}`,
      async () => await admin.call<ListedProposal>('GET', `/proposals/${id}`),
      isThere,
    );
  }

  async #untilIntent(id: string, state: string): Promise<Intent> {
    const { admin } = this.#stage;
    return await this.#until(
      `intent ${id} to be ${state}`,
      async () => await admin.call<Intent>('GET', `/intents/${id}`),
      (intent) => intent.state === state,
    );
  }

  async #until<T extends object>(what: string, look: () => Promise<T>, isThere: (seen: T) => boolean): Promise<T> {
    const deadline = Date.now() + WAIT_MS;
    for (;;) {
      const seen = await look();
      if (isThere(seen)) return seen;
      if (Date.now() > deadline)
        throw new Error(`waited ${WAIT_MS / 1000} s for ${what}; it is ${JSON.stringify(seen)}`);
      await systemClock.sleep(50);
    }
  }

  #say(text: string): void {
    this.#progress.note(text);
  }
}
