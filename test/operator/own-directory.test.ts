import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { WholeSystem } from './whole-system.ts';

interface Line {
  readonly msg?: string;
  readonly repository?: string;
  readonly service?: string;
}

describe('an operator in gitops mode', () => {
  it('asks the Git host when its own directory has changed, and not when another one’s has', async () => {
    const lines: Line[] = [];
    const logger = pino({ level: 'debug' }, { write: (text) => void lines.push(JSON.parse(text) as Line) });
    await using system = await WholeSystem.start(systemClock, 'gitops', {}, { logger });
    const { plane } = system;
    const reads = (): string[] =>
      lines.flatMap(({ msg, repository, service }) =>
        msg === 'git request served' && service === 'git-upload-pack' ? [repository ?? ''] : [],
      );
    const bring = async (cluster: string, name: string): Promise<void> => {
      const { body } = await plane.call('POST', `/clusters/${cluster}/intents`, { ...INSTALL, name });
      await plane.until(String(body['id']), 'delivered');
    };
    await plane.newCluster('us');
    await system.bring(INSTALL, 'ready');
    const first = reads().length;
    expect(first).toBeGreaterThan(0);
    const state = async (): Promise<unknown> => {
      const { body } = await plane.call('GET', '/clusters/eu');
      const [row] = plane.query('SELECT config_revision FROM clusters WHERE id = ?', system.clusterId);
      return { desired: body['desiredRevision'], applied: body['appliedRevision'], ...row };
    };
    const before = await state();

    for (let index = 0; index < 10; index += 1) await bring('us', `app-${index}`);
    expect(await state()).toEqual(before);
    expect(reads()).toHaveLength(first);

    // The next change of its own is read at once: what did not come for the others' was not merely late.
    await system.bring({ ...INSTALL, name: 'second' }, 'ready');
    expect(reads().length).toBeGreaterThan(first);
    // It reads nothing but its own repository, and nothing was read on anybody else's behalf.
    expect(new Set(reads())).toEqual(new Set(['clusters/eu']));
  });
});
