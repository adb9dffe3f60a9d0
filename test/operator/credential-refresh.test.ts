import { describe, expect, it } from 'vitest';
import { FakeControlPlane } from './fake-control-plane.ts';
import { decoded, OperatorWorld } from './operator-world.ts';

const RECOVER = '/api/agent/credentials/recover';
const ROTATE = '/api/agent/credentials/rotate';

async function registered(plane: FakeControlPlane, world: OperatorWorld): Promise<void> {
  plane.accounts.set('svcreg_a', 'fresh');
  await world.start();
  await world.join(plane.url, 'svcreg_a');
  await world.until('Authenticated', 'True', 'Registered');
  await expect.poll(async () => (await world.read()).status?.configRevision, { timeout: 30_000 }).toBeDefined();
}

describe('the one refresh after a 401', () => {
  it('is a rotation where the control plane cannot recover, and no more than that', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await registered(plane, world);
    plane.intercept = ({ path }, response) => {
      if (path !== RECOVER) return false;
      plane.refuse(response, 'not_found', 'there is nothing at this path');
      return true;
    };
    plane.tokens.clear();
    plane.configure({ delivery_epoch: 2 });
    const condition = await world.until('Authenticated', 'False', 'CredentialRefused');
    expect(condition.message).toContain('(invalid_token): this token is not known.');
    const sent = plane.requests.length;
    await world.annotate({ note: 'touched' });
    await expect.poll(async () => (await world.read()).metadata.annotations?.['note']).toBe('touched');
    expect({
      recoveries: plane.count(RECOVER),
      rotations: plane.count(ROTATE),
      more: plane.requests.length - sent,
    }).toEqual({ recoveries: 1, rotations: 1, more: 0 });
  });

  it('is tried again while nobody answers it, as long as it is told, and nothing is stopped meanwhile', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await registered(plane, world);
    const asked: number[] = [];
    plane.intercept = ({ path }, response) => {
      if (path !== RECOVER) return false;
      asked.push(performance.now());
      if (asked.length > 1) return false;
      plane.refuse(response, 'rate_limited', 'five an hour');
      return true;
    };
    plane.tokens.clear();
    plane.configure({ delivery_epoch: 2 });
    await world.until('Authenticated', 'True', 'CredentialRecovered');
    // rate_limited says one second here.
    expect(Number(asked[1]) - Number(asked[0])).toBeGreaterThanOrEqual(990);
    expect({ recoveries: plane.count(RECOVER), rotations: plane.count(ROTATE) }).toEqual({
      recoveries: 2,
      rotations: 0,
    });
    expect(decoded(await world.secret('service-operator-credentials'), 'token')).toBe('svcagt_2');
  });

  it('is asked for once a second at most, by whichever loop meets the refusal', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await registered(plane, world);
    const asked: number[] = [];
    plane.intercept = ({ path }, response) => {
      if (path !== RECOVER) return false;
      asked.push(performance.now());
      if (asked.length > 3) return false;
      plane.answer(response, 503, { error: 'unavailable', message: 'not now', requestId: 'r' });
      return true;
    };
    plane.tokens.clear();
    // The poll, the configuration and the events of what it changes.
    plane.configure({ delivery_epoch: 2, operator: { desired_version: '9.9.9' } });
    await expect.poll(() => asked.length, { timeout: 15_000 }).toBe(4);
    const gaps = asked.slice(1).map((time, index) => time - (asked[index] ?? 0));
    expect(gaps).toHaveLength(3);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(990);
  });

  it('takes nothing that is sealed for another use', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await registered(plane, world);
    plane.credentials.audience = 'c-0123456789abcdef/shop/podinfo';
    plane.tokens.clear();
    plane.configure({ delivery_epoch: 2 });
    await world.until('Authenticated', 'False', 'CredentialRefused');
    expect(decoded(await world.secret('service-operator-credentials'), 'token')).toBe('svcagt_1');
    expect(plane.count(RECOVER)).toBe(1);
  });

  it('is not asked of the control plane for a signature that something on the way has spoilt', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await registered(plane, world);
    plane.intercept = ({ path }, response) => {
      if (path !== '/api/agent/events') return false;
      plane.refuse(response, 'invalid_signature', 'the MAC does not match');
      return true;
    };
    await world.annotate({ note: 'touched' });
    plane.configure({ operator: { desired_version: '9.9.9' } });
    const condition = await world.until('Authenticated', 'False', 'CredentialRefused');
    expect(condition.message).toContain('look at the proxies on the way');
    expect({ recoveries: plane.count(RECOVER), rotations: plane.count(ROTATE) }).toEqual({
      recoveries: 0,
      rotations: 0,
    });
  });
});
