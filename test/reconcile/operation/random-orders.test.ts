import fc from 'fast-check';
import { it } from 'vitest';
import { OrderWorld, type Happening } from './order-world.ts';

const pass = fc.record({
  kind: fc.constant('pass' as const),
  diesAt: fc.constantFrom(99, 99, 1, 2, 3, 4, 5),
  isAfter: fc.boolean(),
  isLate: fc.boolean(),
});
const tried = fc.constantFrom('running', 'succeeded', 'failed', 'failed', 'failed for good', 'gone' as const);
const seconds = fc.constantFrom(-90, 1, 12, 30, 90, 400, 700);

function each<K extends Happening['kind'], T extends object>(kind: K, rest: { [M in keyof T]: fc.Arbitrary<T[M]> }) {
  return fc.record({ kind: fc.constant(kind), ...rest } as const);
}

const happenings: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 8, arbitrary: pass },
  { weight: 1, arbitrary: each('cancelled pass', { at: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'cancel' } as const) },
  { weight: 2, arbitrary: each('verdict', { mayRun: fc.boolean() }) },
  { weight: 1, arbitrary: each('pause', { isOn: fc.boolean() }) },
  { weight: 3, arbitrary: each('clock', { seconds }) },
  { weight: 4, arbitrary: each('try', { state: tried }) },
  { weight: 1, arbitrary: each('start', { isRefused: fc.boolean() }) },
  { weight: 1, arbitrary: each('faults', { observe: fc.boolean(), stop: fc.boolean() }) },
) as fc.Arbitrary<Happening>;

const RUNS = 3000;

it('an operation keeps its promises in whatever order things happen to it, crashes between any two steps included', async () => {
  const seed = Number(process.env['OPERATION_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  process.stdout.write(`orders of an operation: seed ${seed} (again: OPERATION_SEED=${seed})\n`);
  const property = fc.asyncProperty(
    fc.boolean(),
    fc.array(happenings, { maxLength: 40 }),
    async (isStoppable, list) => {
      const world = new OrderWorld(isStoppable);
      try {
        for (const happening of list) await world.happen(happening);
        await world.settle();
      } catch (error) {
        throw new Error(`${String(error)}\n${world.story}`, { cause: error });
      }
    },
  );
  await fc.assert(property, { seed, numRuns: RUNS });
}, 120_000);
