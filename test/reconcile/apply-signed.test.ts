import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/delivery/delivery.ts';
import { type ApplyStage, setApplyStage } from './apply-stage.ts';
import { aPolicy, aTombstone, file, stone } from './manifests.ts';
import { controlPlaneKey } from '../policy/signed-approval.ts';
import { signed, signedTombstone } from '../policy/signed-instance.ts';

let stage: ApplyStage;

beforeEach(async () => {
  stage = await setApplyStage();
  stage.policy = aPolicy({ signingKeys: [controlPlaneKey.publicJwk] });
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const require = (): void => {
  stage.policy = { ...stage.policy, requireSignedPayloads: true };
};

async function outcome(object: ReturnType<typeof file>['object']): Promise<Outcome | undefined> {
  const report = await stage.apply({ objects: [{ key: 'x.yaml', object }] });
  return report.outcomes.get('x.yaml');
}

describe('what comes in', () => {
  it('is applied with its signature, and once more without a write', async () => {
    const object = await signed(file({ spec: { values: { a: [1.5, null, '1'], big: 1e21 } } }).object);
    expect(await outcome(object)).toMatchObject({ state: 'applied' });
    require();
    expect(await outcome(object)).toMatchObject({ state: 'unchanged' });
    const live = await stage.read();
    expect(live?.metadata.annotations?.['app.service.io/signature']).toBe(
      object.metadata.annotations?.['app.service.io/signature'],
    );
  });

  it('is refused where it was altered on the way, whether signatures are required or not', async () => {
    const object = await signed(file().object);
    const altered = { ...object, spec: { ...(object['spec'] as object), values: { replicaCount: 50 } } };
    for (const step of [(): void => undefined, require]) {
      step();
      expect(await outcome(altered)).toMatchObject({
        state: 'refused',
        reason: 'SignatureInvalid',
        message: expect.stringMatching(/it is not over this content.*restore what was delivered/),
      });
      expect(await stage.read()).toBeUndefined();
    }
  });

  it('is admitted without one, unless one is required', async () => {
    expect(await outcome(file().object)).toMatchObject({ state: 'applied' });
    require();
    expect(await outcome(file({ source: '1.2' }).object)).toMatchObject({
      state: 'refused',
      reason: 'SignatureMissing',
      message: expect.stringContaining('this cluster requires one'),
    });
    expect((await stage.read())?.metadata.annotations?.['app.service.io/source']).toBe('1.1');
  });

  it('deletes by a tombstone only where that was not altered, and is signed where that is required', async () => {
    await outcome(await signed(file().object));
    const tombstone = await signedTombstone(aTombstone());
    const forged = await stage.apply({ removals: [{ key: 't.json', tombstone: { ...tombstone, generation: 12 } }] });
    expect(forged.outcomes.get('t.json')).toMatchObject({ state: 'refused', reason: 'SignatureInvalid' });
    require();
    const unsigned = await stage.apply({ removals: [stone()] });
    expect([...unsigned.outcomes.values()]).toMatchObject([{ state: 'refused', reason: 'SignatureMissing' }]);
    expect(await stage.read()).toBeDefined();
    const meant = await stage.apply({ removals: [{ key: 't.json', tombstone }] });
    expect(meant.outcomes.get('t.json')).toMatchObject({ state: 'deleted' });
    expect(await stage.read()).toBeUndefined();
  });

  it('of a job deletes without a signature in the tombstone: the job had its own', async () => {
    await outcome(await signed(file().object));
    require();
    stage.policy = { ...stage.policy, mode: 'pull' };
    const report = await stage.apply({ scope: 'partial', removals: [stone()] });
    expect([...report.outcomes.values()]).toMatchObject([{ state: 'deleted' }]);
  });
});
