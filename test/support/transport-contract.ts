import { afterAll, beforeAll, describe } from 'vitest';
import { START_TIMEOUT_MS } from './real-cluster/real-cluster.ts';
import { describeConflicts } from './transport-contract/conflicts.ts';
import { describeDelivering } from './transport-contract/delivering.ts';
import { describeOperations } from './transport-contract/operations.ts';
import { describeOutages } from './transport-contract/outages.ts';
import { describeRemoving } from './transport-contract/removing.ts';
import { describeRepeating } from './transport-contract/repeating.ts';
import { describeSealedValues } from './transport-contract/sealed-values.ts';
import type { TransportCluster } from './transport-contract/transport-cluster.ts';
import { TransportWorld } from './transport-contract/transport-world.ts';
import { TRANSPORTS } from './transport-contract/transports.ts';

/**
 * What every transport must do, with a whole control plane, an operator and a release controller: the same cases for all,
 * each with an application of its own.
 */
export function transportContract(start: () => Promise<TransportCluster>): void {
  describe.each(TRANSPORTS)('by $mode', { timeout: 120_000 }, (transport) => {
    let world: TransportWorld | undefined;
    const current = (): TransportWorld => {
      if (world === undefined) throw new Error('the programs did not start');
      return world;
    };
    beforeAll(async () => {
      world = await TransportWorld.start(transport, start());
    }, START_TIMEOUT_MS);
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
    }, 60_000);
    describe('delivering', () => {
      describeDelivering(current);
    });
    describe('conflicts', () => {
      describeConflicts(current);
    });
    describe('removing', () => {
      describeRemoving(current);
    });
    describe('sealed values', () => {
      describeSealedValues(current);
    });
    describe('repeating', () => {
      describeRepeating(current);
    });
    describe('operations', () => {
      describeOperations(current);
    });
    describe('outages', () => {
      describeOutages(current);
    });
  });
}
