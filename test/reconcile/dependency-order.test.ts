import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DesiredItem } from '../../src/delivery/delivery.ts';
import { dependencyOrder } from '../../src/reconcile/dependency-order.ts';
import { anInstance, file } from './manifests.ts';
import { setApplyStage } from './apply-stage.ts';

const nothing = async (): Promise<undefined> => undefined;

/** `a: b c` for an instance a that needs b and c. */
function items(...lines: string[]): DesiredItem[] {
  return lines.map((line) => {
    const [name = '', needs = ''] = line.split(':');
    const names = needs.split(' ').filter((other) => other !== '');
    const dependsOn = names.map((other) => {
      const [namespace = '', own] = other.split('/');
      return own === undefined ? { name: namespace } : { namespace, name: own };
    });
    return file({ name, spec: dependsOn.length === 0 ? {} : { dependsOn } });
  });
}

const namesIn = (turns: readonly (readonly DesiredItem[])[]): string[] =>
  turns.map((turn) => turn.map(({ object }) => object.metadata.name).join(' '));

describe('the order of a set', () => {
  it('has what others need first, and waits for nothing that is not there', async () => {
    const { turns, circles } = await dependencyOrder(
      items('c: b', 'b: a', 'a', 'd: missing other/x', 'e: a b'),
      nothing,
    );
    expect(namesIn(turns)).toEqual(['a', 'b d', 'c e']);
    expect(circles.size).toBe(0);
  });

  it('names every member of a circle and keeps those who merely need one of them', async () => {
    const { turns, circles } = await dependencyOrder(
      items('a: b', 'b: c', 'c: a', 'd: a', 'x: y', 'y: shop/x', 'free'),
      nothing,
    );
    const words = (names: string): string =>
      `dependsOn goes in a circle, and each would wait for the others for ever: ${names}; take one of these entries out`;
    expect(Object.fromEntries(circles)).toEqual({
      'apps/shop/a.yaml': words('shop/a, shop/b, shop/c'),
      'apps/shop/b.yaml': words('shop/a, shop/b, shop/c'),
      'apps/shop/c.yaml': words('shop/a, shop/b, shop/c'),
      'apps/shop/x.yaml': words('shop/x, shop/y'),
      'apps/shop/y.yaml': words('shop/x, shop/y'),
    });
    expect(namesIn(turns)).toEqual(['free', 'd']);
  });

  it('finds a circle that one item closes with what stands in the cluster', async () => {
    const live = new Map(items('b: c', 'c: a').map(({ object }) => [object.metadata.name, object]));
    const { circles } = await dependencyOrder(items('a: b'), async ({ name }) => live.get(name));
    expect([...circles.values()]).toEqual([expect.stringContaining('shop/a, shop/b, shop/c')]);
  });

  it('takes a chain of 10,000, and 10,000 without any, in no time', async () => {
    const chain = Array.from({ length: 10_000 }, (_, n) => (n === 0 ? 'app-0' : `app-${n}: app-${n - 1}`));
    const started = performance.now();
    expect((await dependencyOrder(items(...chain.toReversed()), nothing)).turns).toHaveLength(10_000);
    const loose = Array.from({ length: 10_000 }, (_, n) => `app-${n}`);
    expect((await dependencyOrder(items(...loose), nothing)).turns).toHaveLength(1);
    expect(performance.now() - started).toBeLessThan(5000);
  });

  it('is one in which nothing comes before what it needs, whatever needs what', async () => {
    const graph = fc.array(fc.array(fc.nat(11), { maxLength: 3 }), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(graph, async (needs) => {
        const lines = needs.map((others, n) => `n${n}: ${others.map((other) => `n${other}`).join(' ')}`);
        const { turns, circles } = await dependencyOrder(items(...lines), nothing);
        const turnOf = new Map(turns.flatMap((turn, at) => turn.map(({ key }) => [key, at] as const)));
        expect(turnOf.size + circles.size).toBe(needs.length);
        const isInCircle = (start: number): boolean => reaches(needs, start, start);
        for (const [n, others] of needs.entries()) {
          const own = turnOf.get(`apps/shop/n${n}.yaml`);
          // One that names itself alone is a fault of its own, found elsewhere.
          const isCircle =
            isInCircle(n) && needs.some((_, m) => m !== n && reaches(needs, n, m) && reaches(needs, m, n));
          expect(circles.has(`apps/shop/n${n}.yaml`)).toBe(isCircle);
          for (const other of others) {
            const theirs = turnOf.get(`apps/shop/n${other}.yaml`);
            if (own !== undefined && theirs !== undefined && other !== n) expect(theirs).toBeLessThan(own);
          }
        }
      }),
    );
  });
});

describe('a set whose instances need each other', () => {
  it('is applied in that order, and of a circle nothing is, which its files say', async () => {
    await using stage = await setApplyStage();
    const report = await stage.apply({ objects: items('c: b', 'b: a', 'a', 'x: y', 'y: x') });
    expect(stage.recording.writes.filter((write) => write.startsWith('apply'))).toEqual([
      'apply ApplicationInstance shop/a',
      'apply ApplicationInstance shop/b',
      'apply ApplicationInstance shop/c',
    ]);
    expect(report.outcomes.get('apps/shop/x.yaml')).toMatchObject({ state: 'refused', reason: 'SpecInvalid' });
    expect(await stage.read('x')).toBeUndefined();
  });

  it('is refused where a job closes a circle with what is applied', async () => {
    await using stage = await setApplyStage();
    await stage.apply({ objects: items('a: b') });
    const report = await stage.apply({
      scope: 'partial',
      objects: [{ key: 'job-1', object: anInstance({ name: 'b', spec: { dependsOn: [{ name: 'a' }] } }) }],
    });
    expect(report.outcomes.get('job-1')).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('shop/a, shop/b'),
    });
  });
});

function reaches(needs: readonly (readonly number[])[], from: number, to: number): boolean {
  const seen = new Set<number>();
  const open = [...(needs[from] ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === to) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...(needs[next] ?? []));
  }
  return false;
}
