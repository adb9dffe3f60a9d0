import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { authoritiesIn, DAY_MS, isTrustedBy, KeeperWorld, type Kept } from './keeper-world.ts';

const MINUTE = 60_000;
const SOON = 10_000;
/** After this long, what is served is due; after so many times, its authority is. */
const RENEWAL = 61 * DAY_MS;
const RENEWALS = 39;

let world: KeeperWorld;
beforeEach(async () => {
  world = await KeeperWorld.start();
});
afterEach(async () => {
  await world[Symbol.asyncDispose]();
});

/** The Secret is in order, the configuration trusts it, and the keeper serves it. */
async function expectAllInPlace({ served }: Kept): Promise<void> {
  const stored = await world.stored();
  expect(served.at(-1)).toBe(stored?.['tls.crt']);
  expect(isTrustedBy(served.at(-1), stored?.['ca.crt'])).toBe(true);
  expect(await world.bundles()).toEqual([stored?.['ca.crt'], stored?.['ca.crt']]);
}

describe('the configuration', () => {
  it('is no fault while it is missing, and is completed at most ten seconds after it appears', async () => {
    const kept = await world.keep(world.admin, 1);
    expect(kept.served).toHaveLength(1);
    await world.pass(SOON);
    await world.pass(SOON);
    expect(Math.max(...kept.pauses)).toBeLessThanOrEqual(SOON);
    await world.configure();
    await world.pass(SOON);
    await expectAllInPlace(kept);
    expect(kept.said).toEqual(['made an authority and a certificate for the webhook']);
    expect(kept.pauses.at(-1)).toBeGreaterThan(MINUTE);
  });

  it('is not written again while it is right', async () => {
    await world.configure();
    const kept = await world.keep();
    const before = [await world.version('Secret'), await world.version('configuration')];
    await world.pass(MINUTE);
    await world.pass(MINUTE);
    expect([await world.version('Secret'), await world.version('configuration')]).toEqual(before);
    expect([kept.pauses, kept.served.length]).toEqual([[MINUTE, MINUTE, MINUTE], 1]);
  });

  it.each([
    ['overwritten', ['not an authority', 'nor this']],
    ['emptied', ['', '']],
    ['half overwritten', ['not an authority']],
  ])('gets its authority back when it was %s', async (_, bundles) => {
    await world.configure();
    const kept = await world.keep();
    await world.overwriteBundles(...bundles);
    expect(await world.bundles()).toEqual([bundles[0], bundles[1] ?? '']);
    await world.pass(MINUTE);
    await expectAllInPlace(kept);
    expect(kept.served).toHaveLength(1);
  });

  it('that may not be read is said once, and the certificate is served all the same', async () => {
    await world.configure();
    const denied = world.connectWithout(({ resource }) => resource === 'validatingwebhookconfigurations');
    const kept = await world.keep(denied, 1);
    for (let look = 0; look < 5; look += 1) await world.pass(SOON);
    expect(kept.served).toEqual([(await world.stored())?.['tls.crt']]);
    expect(kept.said).toEqual([
      'made an authority and a certificate for the webhook',
      expect.stringMatching(/^the operator may not keep its webhook's certificate; apply the roles/),
    ]);
    expect(Math.max(...kept.pauses)).toBeLessThanOrEqual(SOON);
  });

  it('that may be read but not written is said once, and again after it was once in order', async () => {
    await world.configure();
    let isDenied = true;
    const limited = world.connectWithout(
      ({ resource, verb }) => isDenied && resource === 'validatingwebhookconfigurations' && verb === 'patch',
    );
    const kept = await world.keep(limited);
    const refusals = (): number => kept.said.filter((line) => line.includes('may not keep')).length;
    await world.pass(SOON);
    expect(refusals()).toBe(1);
    isDenied = false;
    await world.pass(SOON);
    await expectAllInPlace(kept);
    isDenied = true;
    await world.overwriteBundles('x', 'x');
    await world.pass(MINUTE);
    expect(refusals()).toBe(2);
  });
});

describe('the Secret', () => {
  it('is one of two that make it at once, and both serve the same', async () => {
    await world.configure();
    // Both have looked, and found none, before either writes.
    world.sandbox.faults.add({
      match: ({ method, path }) => method === 'POST' && path.endsWith('/secrets'),
      times: 2,
      delayMs: 100,
    });
    const keepers = [world.begin(), world.begin()];
    await world.allPause();
    expect(new Set(keepers.map(({ pauses }) => pauses[0]))).toEqual(new Set([750, MINUTE]));
    expect(keepers.map(({ said }) => said.length)).toEqual([1, 1]);
    await world.pass(MINUTE);
    for (const kept of keepers) await expectAllInPlace(kept);
    expect(keepers.map(({ served }) => served.length)).toEqual([1, 1]);
  });

  it('is renewed once by two that find it due at once', async () => {
    await world.configure();
    const keepers = [await world.keep(), await world.keep()];
    await world.pass(RENEWAL);
    await world.pass(MINUTE);
    for (const kept of keepers) await expectAllInPlace(kept);
    expect(keepers.map(({ served }) => new Set(served).size)).toEqual([2, 2]);
  });

  it('that may not be written is said once, and nothing is served that others could not serve', async () => {
    const kept = await world.keep(
      world.connectWithout(({ resource, verb }) => resource === 'secrets' && verb !== 'get'),
    );
    for (let look = 0; look < 3; look += 1) await world.pass(SOON);
    expect(kept.served).toEqual([]);
    expect(kept.keeper.ends).toBeUndefined();
    expect(kept.said.filter((line) => line.includes('may not keep'))).toHaveLength(1);
  });

  it.each<readonly [string, (stored: Readonly<Record<string, string>>) => Readonly<Record<string, string>>]>([
    ['holds garbage', () => ({ 'ca.crt': 'x', 'ca.key': 'x', 'tls.crt': 'x', 'tls.key': 'x' })],
    ['is empty', () => ({ 'ca.crt': '', 'ca.key': '', 'tls.crt': '', 'tls.key': '' })],
    ['lost the key of its authority', () => ({ 'ca.key': '' })],
    ['holds a key that does not fit', (stored) => ({ 'tls.key': stored['ca.key'] ?? '' })],
    ['holds a broken certificate', (stored) => ({ 'tls.crt': (stored['tls.crt'] ?? '').slice(0, 200) })],
    ['trusts something that is no certificate', (stored) => ({ 'ca.crt': `${stored['ca.crt']}${BROKEN}` })],
    [
      'serves as an authority what is none',
      (stored) => ({ 'ca.crt': stored['tls.crt'] ?? '', 'ca.key': stored['tls.key'] ?? '' }),
    ],
  ])('is made anew when it %s', async (_, change) => {
    await world.configure();
    const kept = await world.keep();
    const before = (await world.stored()) ?? {};
    await world.store(change(before));
    await world.pass(MINUTE);
    await expectAllInPlace(kept);
    expect((await world.stored())?.['ca.key']).not.toBe(before['ca.key']);
    expect(kept.served).toHaveLength(2);
  });

  it('is made anew when it was deleted', async () => {
    await world.configure();
    const kept = await world.keep();
    await world.deleteSecret();
    await world.pass(MINUTE);
    await expectAllInPlace(kept);
    expect(kept.served).toHaveLength(2);
  });
});

describe('a rotation', () => {
  it('renews what is served by the same authority, before it ends', async () => {
    await world.configure();
    const kept = await world.keep();
    const bundles = await world.bundles();
    await world.pass(RENEWAL);
    await expectAllInPlace(kept);
    expect(kept.served).toHaveLength(2);
    expect(await world.bundles()).toEqual(bundles);
    expect(kept.keeper.ends?.getTime()).toBe(world.clock.now().getTime() + 90 * DAY_MS);
  });

  /** Whether a new process, which knows nothing, takes over between any two steps. */
  it.each([false, true])('of the authority never serves what is not trusted (restarting: %s)', async (restarts) => {
    await world.configure();
    let kept = await world.keep();
    for (let renewal = 0; renewal < RENEWALS; renewal += 1) await world.pass(RENEWAL);
    const [first] = await world.bundles();
    let before = first;
    const step = async (ms: number): Promise<void> => {
      if (restarts) {
        await kept.stop();
        world.clock.advance(ms);
        kept = await world.keep();
      } else await world.pass(ms);
      // By what the API server had been told before this look.
      expect(isTrustedBy(kept.served.at(-1), before)).toBe(true);
      expect(kept.keeper.ends?.getTime()).toBeGreaterThan(world.clock.now().getTime());
      [before] = await world.bundles();
    };
    await step(RENEWAL);
    expect([authoritiesIn(before), isTrustedBy(kept.served.at(-1), first)]).toEqual([2, true]);
    await step(MINUTE);
    expect([authoritiesIn(before), isTrustedBy(kept.served.at(-1), first)]).toEqual([2, false]);
    await step(RENEWAL);
    await step(28 * DAY_MS);
    expect(authoritiesIn(before)).toBe(2);
    await step(2 * DAY_MS);
    expect(authoritiesIn(before)).toBe(1);
    await expectAllInPlace(kept);
  });

  it('of the authority waits with serving while the configuration cannot be told of it', async () => {
    await world.configure();
    let isDenied = false;
    const limited = world.connectWithout(
      ({ verb, resource }) => isDenied && verb === 'patch' && resource !== 'secrets',
    );
    const kept = await world.keep(limited);
    for (let renewal = 0; renewal < RENEWALS; renewal += 1) await world.pass(RENEWAL);
    isDenied = true;
    await world.pass(RENEWAL);
    for (let look = 0; look < 4; look += 1) await world.pass(MINUTE);
    const [trusted] = await world.bundles();
    expect([authoritiesIn((await world.stored())?.['ca.crt']), authoritiesIn(trusted)]).toEqual([2, 1]);
    expect(isTrustedBy(kept.served.at(-1), trusted)).toBe(true);
    isDenied = false;
    await world.pass(SOON);
    await world.pass(MINUTE);
    await expectAllInPlace(kept);
    expect(isTrustedBy(kept.served.at(-1), trusted)).toBe(false);
  });
});

describe('a process that ends in the middle', () => {
  const SECRET_MADE = { method: 'POST', of: '/secrets' };
  const SECRET_CHANGED = { method: 'PATCH', of: '/secrets/service-operator-webhook' };
  const BUNDLE = { method: 'PATCH', of: '/validatingwebhookconfigurations/service-operator' };
  const ends = ['before', 'after'] as const;

  it.each([SECRET_MADE, BUNDLE].flatMap((write) => ends.map((cut) => ({ ...write, cut }))))(
    'of its first work leaves nothing that the next cannot go on from ($cut $method $of)',
    async ({ method, of, cut }) => {
      await world.configure();
      world.sandbox.faults.add({ match: (asked) => asked.method === method && asked.path.endsWith(of), cut });
      const first = await world.keep();
      const made = await world.stored();
      await first.stop();
      world.sandbox.faults.clear();
      const second = await world.keep();
      await expectAllInPlace(second);
      expect(made === undefined).toBe(of === SECRET_MADE.of && cut === 'before');
      expect(await world.stored()).toEqual(made ?? (await world.stored()));
    },
  );

  it.each([SECRET_CHANGED, BUNDLE].flatMap((write) => ends.map((cut) => ({ ...write, cut }))))(
    'of a rotation does neither ($cut $method $of)',
    async ({ method, of, cut }) => {
      await world.configure();
      const first = await world.keep();
      for (let renewal = 0; renewal < RENEWALS; renewal += 1) await world.pass(RENEWAL);
      world.sandbox.faults.add({ match: (asked) => asked.method === method && asked.path.endsWith(of), cut });
      const [trusted] = await world.bundles();
      await world.pass(RENEWAL);
      expect(isTrustedBy(first.served.at(-1), trusted)).toBe(true);
      await first.stop();
      world.sandbox.faults.clear();
      const [before] = await world.bundles();
      const second = await world.keep();
      expect(isTrustedBy(second.served.at(-1), before)).toBe(true);
      await world.pass(MINUTE);
      await world.pass(MINUTE);
      await expectAllInPlace(second);
      expect(authoritiesIn((await world.bundles())[0])).toBe(2);
      expect(isTrustedBy(second.served.at(-1), trusted)).toBe(false);
    },
  );

  it('and stays away until all it served has ended serves something valid at its first look', async () => {
    await world.configure();
    await (await world.keep()).stop();
    world.clock.advance(RENEWALS * RENEWAL + RENEWAL);
    const [trusted] = await world.bundles();
    const kept = await world.keep();
    expect(kept.keeper.ends?.getTime()).toBeGreaterThan(world.clock.now().getTime());
    expect(isTrustedBy(kept.served.at(-1), trusted)).toBe(true);
    await world.pass(MINUTE);
    await world.pass(MINUTE);
    await expectAllInPlace(kept);
    expect(isTrustedBy(kept.served.at(-1), trusted)).toBe(false);
  });
});

/** Framed like a certificate. */
const BROKEN = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
