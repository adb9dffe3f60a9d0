import { describe, expect, it } from 'vitest';
import { HostTurns } from '../../../src/control-plane/catalog/host-turns.ts';

const STOP = new AbortController().signal;

describe('HostTurns', () => {
  it('lets one organization wait for 32 answers, and keeps no other one waiting for its sake', async () => {
    const turns = new HostTurns();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const slow = Array.from({ length: 32 }, async (_, at) =>
      turns.take(`slow-${at}.example.com`, 'a', async () => await answered, STOP),
    );
    await expect(turns.take('well.example.com', 'a', async () => 'asked', STOP)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'too many lists of versions are being asked for; ask again in a while',
    });
    expect(await turns.take('well.example.com', 'b', async () => 'asked', STOP)).toBe('asked');
    answer();
    await Promise.all(slow);
    expect(await turns.take('well.example.com', 'a', async () => 'asked', STOP)).toBe('asked');
  });

  it('lets nobody pass those who are asked still, where somebody behind them gives up', async () => {
    const turns = new HostTurns();
    const order: string[] = [];
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const first = turns.take('h', 'a', async () => void order.push(await answered.then(() => 'first')), STOP);
    const impatient = new AbortController();
    const second = turns.take('h', 'a', async () => void order.push('second'), impatient.signal);
    impatient.abort(new Error('no longer'));
    await expect(second).rejects.toThrow('no longer');
    const third = turns.take('h', 'b', async () => void order.push('third'), STOP);
    answer();
    await Promise.all([first, third]);
    expect(order).toEqual(['first', 'third']);
  });
});
