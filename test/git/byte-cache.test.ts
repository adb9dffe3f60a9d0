import { describe, expect, it } from 'vitest';
import { ByteCache } from '../../src/git/byte-cache.ts';

describe('ByteCache', () => {
  it('drops what was used longest ago, and what is too large at once', () => {
    const cache = new ByteCache<string>({ maxBytes: 10 });
    cache.set('a', 'A', 4);
    cache.set('b', 'B', 4);
    cache.get('a');
    cache.set('c', 'C', 4);
    cache.set('huge', 'H', 11);
    expect([cache.get('a'), cache.get('b'), cache.get('c'), cache.get('huge'), cache.bytes]).toEqual([
      'A',
      undefined,
      'C',
      undefined,
      8,
    ]);
    cache.set('a', 'A2', 1);
    expect([cache.get('a'), cache.bytes]).toEqual(['A2', 5]);
  });
});
