import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BlobPin, DeliveryItem, Receipt } from '../../../../src/delivery/delivery.ts';
import type { GitopsDelivery } from '../../../../src/delivery/gitops/write/gitops-delivery.ts';
import type { Rendered } from '../../../../src/intent/rendered.ts';
import { git, type GitServer } from '../../../git/git-server.ts';
import { apply, uninstall } from './rendered-intent.ts';
import { commitByHand, deliver, delivered, onServer, startAcme, subjects, writerOn } from './writer.ts';

type Proposed = Extract<Receipt, { state: 'proposed' }>;

const MANIFEST = 'apps/shop/podinfo.yaml';
const IN_PLACE = { mirror: false, place: true };

let server: GitServer;

beforeEach(async () => {
  server = await startAcme();
});

afterEach(async () => {
  await git(server.path('acme'), ['fsck', '--strict', '--no-dangling']);
  await server[Symbol.asyncDispose]();
});

function branchOf(rendered: Rendered): string {
  return `proposals/${rendered.target.slug}/${rendered.intent.id}`;
}

function proposal(rendered: Rendered, replaces?: string): DeliveryItem {
  const branch = branchOf(rendered);
  return { ...rendered, review: { kind: 'propose', branch, ...(replaces === undefined ? {} : { replaces }) } };
}

function merge(rendered: Rendered, pins: readonly BlobPin[], approvedBy = ['bob', 'carol']): DeliveryItem {
  return { ...rendered, review: { kind: 'merge', pins, approvedBy } };
}

async function one(delivery: GitopsDelivery, item: DeliveryItem): Promise<Receipt> {
  const receipts = await deliver(delivery, [item]);
  expect(receipts.length).toBe(1);
  return receipts[0] as Receipt;
}

async function proposed(delivery: GitopsDelivery, item: DeliveryItem): Promise<Proposed> {
  const receipt = await one(delivery, item);
  if (receipt.state !== 'proposed') throw new Error(`not proposed: ${JSON.stringify(receipt)}`);
  return receipt;
}

describe.each([
  ['with a mirror', { ...IN_PLACE, place: false }],
  ['in place', IN_PLACE],
])('GitopsDelivery of proposals, %s', (_name, { place }) => {
  function writer(): GitopsDelivery {
    const localPath = place ? { localPath: server.path('acme') } : {};
    return writerOn(server, {
      repository: { name: 'acme', url: server.remote('acme'), branch: 'main', layout: 'flat', ...localPath },
    });
  }

  it('brings an intent to a branch of its own, as the commit that it would be, and pins what that changes', async () => {
    await using delivery = writer();
    const intent = apply({ id: 'intent-1', reason: 'First install' });
    const base = await onServer(server, 'rev-parse', 'main');
    const receipt = await proposed(delivery, proposal(intent));
    const head = await onServer(server, 'rev-parse', 'refs/heads/proposals/prod-eu/intent-1');
    const blob = async (path: string): Promise<string> =>
      onServer(server, 'rev-parse', `${head}:clusters/prod-eu/${path}`);
    expect(receipt).toEqual({
      state: 'proposed',
      intentId: 'intent-1',
      branch: 'proposals/prod-eu/intent-1',
      title: 'prod-eu: install shop/podinfo 6.5.0',
      base,
      head,
      pins: [
        { path: MANIFEST, after: await blob(MANIFEST) },
        { path: 'README.md', after: await blob('README.md') },
      ],
    });
    expect(await onServer(server, 'rev-list', `${base}..${head}`)).toBe(head);
    expect(await onServer(server, 'log', '-1', '--format=%B', head)).toMatch(
      /^prod-eu: install shop\/podinfo 6.5.0\n\nFirst install\n\nIntent-Id: intent-1\n/,
    );
    expect(await onServer(server, 'rev-parse', 'main')).toBe(base);
  });

  it('proposes the same twice without a second push, also after a crash that lost the receipt', async () => {
    const intent = apply({});
    let first: Proposed;
    {
      await using crashed = writer();
      first = await proposed(crashed, proposal(intent));
    }
    await using restarted = writer();
    expect(await proposed(restarted, proposal(intent))).toEqual(first);
    expect(await proposed(restarted, proposal(intent, first.head))).toEqual(first);
    expect(server.pushes()).toBe(1);
  });

  it('merges what was approved, in the same push as what needs no review, and names who approved', async () => {
    await using delivery = writer();
    const intent = apply({});
    const { pins } = await proposed(delivery, proposal(intent));
    const other = apply({ slug: 'prod-us' });
    const before = server.pushes();
    const receipts = await deliver(delivery, [other, merge(intent, pins)]);
    expect(receipts.map(({ state }) => state)).toEqual(['delivered', 'delivered']);
    expect(server.pushes()).toBe(before + 1);
    expect(await onServer(server, 'log', '-1', '--format=%(trailers:key=Approved-By,valueonly)', 'main')).toBe(
      'bob\ncarol\n',
    );
    expect(await onServer(server, 'rev-parse', `main:clusters/prod-eu/${MANIFEST}`)).toBe(pins[0]?.after);
  });

  it('does not merge onto a base that moved, and proposes anew from there', async () => {
    await using delivery = writer();
    await delivered(delivery, [apply({})]);
    const update = apply({ generation: 2, version: '6.6.1' });
    const first = await proposed(delivery, proposal(update));
    const byHand = await commitByHand(server, `clusters/prod-eu/${MANIFEST}`, 'somebody: else\n');
    expect(await one(delivery, merge(update, first.pins))).toEqual({
      state: 'moved',
      intentId: update.intent.id,
      message: `${MANIFEST} has changed since it was proposed`,
    });
    expect(await onServer(server, 'rev-parse', 'main')).toBe(byHand);
    const second = await proposed(delivery, proposal(update, first.head));
    expect(second.base).toBe(byHand);
    expect(second.pins[0]?.before).toBe(await onServer(server, 'rev-parse', `main:clusters/prod-eu/${MANIFEST}`));
    expect(await onServer(server, 'rev-parse', second.branch)).toBe(second.head);
    expect(await one(delivery, merge(update, second.pins))).toMatchObject({ state: 'delivered' });
  });

  it('merges over commits of others that leave its blobs alone', async () => {
    await using delivery = writer();
    const [first, second] = [apply({ name: 'one' }), apply({ name: 'two' })];
    const pins = [(await proposed(delivery, proposal(first))).pins, (await proposed(delivery, proposal(second))).pins];
    await commitByHand(server, 'clusters/prod-us/apps/shop/own.yaml', 'a: b\n');
    const receipts = await deliver(delivery, [merge(first, pins[0] ?? []), merge(second, pins[1] ?? [])]);
    expect(receipts.map(({ state }) => state)).toEqual(['delivered', 'delivered']);
    expect((await subjects(server)).slice(1)).toEqual([
      'prod-eu: install shop/one 6.5.0',
      'prod-eu: install shop/two 6.5.0',
    ]);
  });

  it('does not merge what renders differently from what was approved', async () => {
    await using delivery = writer();
    const { pins } = await proposed(delivery, proposal(apply({ id: 'i-1' })));
    expect(await one(delivery, merge(apply({ id: 'i-1', version: '9.9.9' }), pins))).toEqual({
      state: 'moved',
      intentId: 'i-1',
      message: `${MANIFEST} is rendered differently from what was approved`,
    });
    const fewer = pins.filter(({ path }) => path !== MANIFEST);
    expect(await one(delivery, merge(apply({ id: 'i-1' }), fewer))).toEqual({
      state: 'moved',
      intentId: 'i-1',
      message: `${MANIFEST} would change too, which nobody has approved`,
    });
    expect(await subjects(server)).toEqual([]);
  });

  it('never merges an older generation over a newer one', async () => {
    await using delivery = writer();
    await delivered(delivery, [apply({})]);
    const older = apply({ generation: 2, version: '6.6.0' });
    const { pins } = await proposed(delivery, proposal(older));
    await delivered(delivery, [apply({ generation: 3, version: '6.7.0' })]);
    expect(await one(delivery, merge(older, pins))).toMatchObject({ state: 'refused', reason: 'Superseded' });
    expect(await one(delivery, proposal(older))).toMatchObject({ state: 'refused', reason: 'Superseded' });
  });

  it('gives the ordinary receipt for a proposal that would change nothing', async () => {
    await using delivery = writer();
    const intent = apply({});
    const [commit] = await delivered(delivery, [intent]);
    expect(await one(delivery, proposal(intent))).toMatchObject({ state: 'delivered', commit });
    expect(await onServer(server, 'for-each-ref', 'refs/heads/proposals')).toBe('');
  });

  it('recognises what was squashed into the branch on the Git host', async () => {
    await using delivery = writer();
    const removal = uninstall({ generation: 2 });
    await delivered(delivery, [apply({})]);
    const first = await proposed(delivery, proposal(removal));
    const at = server.path('acme');
    const landed = { intent: removal.intent, slug: 'prod-eu', pins: first.pins };
    expect(await delivery.landed(landed, AbortSignal.timeout(5000))).toBeUndefined();
    const tree = await git(at, ['rev-parse', `${first.head}^{tree}`]);
    const squashed = await git(at, ['commit-tree', tree, '-p', 'main', '-m', 'Remove podinfo (#7)']);
    await git(at, ['update-ref', 'refs/heads/main', squashed]);
    const revision = await onServer(server, 'rev-parse', 'main:clusters/prod-eu');
    expect(await delivery.landed(landed, AbortSignal.timeout(5000))).toMatchObject({ commit: squashed, revision });
    expect(await one(delivery, merge(removal, first.pins))).toMatchObject({ state: 'delivered', commit: squashed });
  });

  it('never overwrites what a person pushed to the branch of a proposal', async () => {
    await using delivery = writer();
    const intent = apply({});
    const first = await proposed(delivery, proposal(intent));
    const at = server.path('acme');
    const person = await git(at, ['commit-tree', `${first.head}^{tree}`, '-p', first.head, '-m', 'mine']);
    await git(at, ['update-ref', `refs/heads/${first.branch}`, person]);
    await commitByHand(server, 'clusters/prod-eu/README.md', 'moved\n');
    for (const again of [proposal(intent), proposal(intent, first.head)]) {
      expect(await one(delivery, again)).toMatchObject({ state: 'refused', reason: 'ProposalBranchTaken' });
    }
    expect(await onServer(server, 'rev-parse', first.branch)).toBe(person);
    const closed = { clusterId: 'c-prod-eu', slug: 'prod-eu', branch: first.branch, head: first.head };
    expect(await delivery.forget(closed, AbortSignal.timeout(5000))).toBe('changed');
  });

  it('deletes the branch of a closed proposal, once and from the head that is known', async () => {
    await using delivery = writer();
    const { branch, head } = await proposed(delivery, proposal(apply({})));
    const closed = { clusterId: 'c-prod-eu', slug: 'prod-eu', branch, head };
    expect(await delivery.forget(closed, AbortSignal.timeout(5000))).toBe('gone');
    expect(await onServer(server, 'for-each-ref', 'refs/heads/proposals')).toBe('');
    expect(await delivery.forget(closed, AbortSignal.timeout(5000))).toBe('gone');
  });
});
