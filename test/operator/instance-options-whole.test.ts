import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { OPTIONS_TOLD, playInstanceOptions } from '../support/instance-options-story.ts';
import { WholeSystem } from './whole-system.ts';

describe('the options of an instance', () => {
  it.each(['gitops', 'pull'] as const)(
    'reach Flux, conditions, intents and the channel in %s mode',
    { timeout: 120_000 },
    async (mode) => {
      await using system = await WholeSystem.start(systemClock, mode);
      const { plane, clusterId, world } = system;
      const restart = async (): Promise<void> => {
        await world.restart();
        await world.until('ControllersHealthy', 'True', 'ControllersRunning');
      };
      expect(await playInstanceOptions({ plane, clusterId, api: world.cluster.api, restart })).toEqual(OPTIONS_TOLD);
    },
  );
});
