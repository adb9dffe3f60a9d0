import { afterAll, beforeAll, describe } from 'vitest';
import { describeAccess } from './cluster-contract/access.ts';
import { describeApplying } from './cluster-contract/applying.ts';
import { createContext, type ContractCluster, type ContractContext } from './cluster-contract/contract-context.ts';
import { describeDefinitions } from './cluster-contract/definitions.ts';
import { describeKubectl } from './cluster-contract/kubectl.ts';
import { describeLifecycle } from './cluster-contract/lifecycle.ts';
import { describeListing } from './cluster-contract/listing.ts';
import { describeMetadata } from './cluster-contract/metadata.ts';
import { describeObjects } from './cluster-contract/objects.ts';
import { describeOptions } from './cluster-contract/options.ts';
import { describePaging } from './cluster-contract/paging.ts';
import { describeSchemas } from './cluster-contract/schemas.ts';
import { describeWatching } from './cluster-contract/watching.ts';
import { describeWebhooks } from './cluster-contract/webhooks.ts';

/**
 * What every API server that this project talks to must do, in plain HTTP: the sandbox is held to it, and so is
 * a real kube-apiserver (with its controller manager).
 */
export function clusterContract(name: string, start: () => Promise<ContractCluster>): void {
  describe(`${name} as a cluster`, () => {
    let context: ContractContext | undefined;
    const current = (): ContractContext => {
      if (context === undefined) throw new Error('the cluster did not start');
      return context;
    };
    beforeAll(async () => {
      context = await createContext(start);
    }, 120_000);
    afterAll(async () => {
      await context?.[Symbol.asyncDispose]();
    });
    describe('objects', () => {
      describeObjects(current);
    });
    describe('metadata', () => {
      describeMetadata(current);
    });
    describe('options', () => {
      describeOptions(current);
    });
    describe('listing', () => {
      describeListing(current);
    });
    describe('paging', () => {
      describePaging(current);
    });
    describe('server-side apply', () => {
      describeApplying(current);
    });
    describe('schemas', () => {
      describeSchemas(current);
    });
    describe('definitions', () => {
      describeDefinitions(current);
    });
    describe('admission webhooks', { timeout: 60_000 }, () => {
      describeWebhooks(current);
    });
    describe('access', () => {
      describeAccess(current);
    });
    describe('watching', () => {
      describeWatching(current);
    });
    describe('kubectl', () => {
      describeKubectl(current);
    });
    describe('life cycle', () => {
      describeLifecycle(current);
    });
  });
}
