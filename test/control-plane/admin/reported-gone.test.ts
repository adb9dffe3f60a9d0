import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deriveHmacKey, signRequest } from '../../../src/protocol/hmac.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;
let clusterId: string;
let token: string;

beforeEach(async () => {
  plane = await RunningControlPlane.start();
  clusterId = await plane.newCluster('prod-eu');
  const { body: issued } = await plane.call('POST', '/clusters/prod-eu/registration-token');
  const register = { token: issued['registrationToken'] };
  const { body: agent } = await plane.call('POST', '/api/agent/register', register, { token: null });
  token = String(agent['token']);
});
afterEach(async () => await plane[Symbol.asyncDispose]());

interface Report {
  readonly name: string;
  readonly uid?: string;
  /** Counter of its `sequence`; absent for a client that numbers nothing. */
  readonly at?: number;
  readonly generation?: number;
  readonly transition?: string | undefined;
  readonly timestamp?: string | undefined;
  readonly type?: string;
  readonly status: string;
  readonly reason: string;
}

async function report(...reports: readonly Report[]): Promise<void> {
  const events = reports.map(({ name, uid, at, type = 'Ready', status, reason, generation, ...times }) => ({
    eventKey: `condition/${uid ?? name}/${type}/${status}@${at ?? generation}`,
    kind: 'ConditionTransition',
    resourceRef: {
      apiVersion: 'apps.service.io/v1alpha1',
      kind: 'ApplicationInstance',
      namespace: 'shop',
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(generation === undefined ? {} : { generation }),
    },
    conditions: [
      {
        type,
        status,
        reason,
        message: 'm',
        lastTransitionTime: 'transition' in times ? times.transition : '2026-11-28T10:00:00Z',
      },
    ],
    timestamp: 'timestamp' in times ? times.timestamp : '2026-11-28T10:00:01Z',
    ...(at === undefined ? {} : { sequence: `1.${at}` }),
  }));
  const body = { cluster_id: clusterId, events };
  const path = '/api/agent/events';
  const key = deriveHmacKey(new Secret(token), clusterId);
  const signature = signRequest({ key, method: 'POST', path, body, at: systemClock.now() });
  const answer = await plane.call('POST', path, body, { token, headers: { 'service-signature': signature } });
  expect(answer.status).toBe(204);
}

async function listed(query = ''): Promise<readonly (readonly string[])[]> {
  const { body } = await plane.call('GET', `/clusters/prod-eu/conditions${query}`);
  return body['items'].map(({ resourceRef }: { resourceRef: Record<string, string> }) => [
    resourceRef['name'],
    resourceRef['uid'],
  ]);
}

const ready = { status: 'True', reason: 'HelmReleaseReady' };
const uninstalled = { status: 'False', reason: 'Uninstalled' };

describe('GET /clusters/{id}/conditions', () => {
  it('shows of objects that had one name after each other the one that was reported last', async () => {
    await report(
      { name: 'a', uid: 'z-old', at: 1, ...ready },
      { name: 'a', uid: 'z-old', at: 2, type: 'Degraded', status: 'True', reason: 'HelmReleaseFailed' },
      { name: 'a', uid: 'b-new', at: 4, ...ready },
      { name: 'b', uid: 'other', at: 5, ...ready },
    );
    // Late, of the one before.
    await report({ name: 'a', uid: 'z-old', at: 3, type: 'Stalled', status: 'True', reason: 'HelmReleaseFailed' });
    expect(await listed()).toEqual([
      ['a', 'b-new'],
      ['b', 'other'],
    ]);
    const { body } = await plane.call('GET', '/clusters/prod-eu/conditions?limit=1');
    expect(await listed(`?cursor=${body['nextCursor']}`)).toEqual([['b', 'other']]);
  });

  it('does not show one again on the next page that was made anew between the two', async () => {
    await report({ name: 'a', uid: 'a-1', at: 1, ...ready }, { name: 'b', uid: 'b-1', at: 2, ...ready });
    const { body } = await plane.call('GET', '/clusters/prod-eu/conditions?limit=1');
    await report({ name: 'a', uid: 'a-2', at: 3, ...ready });
    expect(await listed(`?cursor=${body['nextCursor']}`)).toEqual([['b', 'b-1']]);
  });

  it.for<[string, string | undefined, string]>([
    ['uninstalled', 'a-1', 'Uninstalled'],
    ['let go as orphaned', 'a-1', 'Orphaned'],
    ['gone by its name alone', undefined, 'Uninstalled'],
  ])('leaves out what was reported %s, and keeps its events', async ([, uid, reason]) => {
    await report({ name: 'a', uid: 'a-1', at: 1, ...ready }, { name: 'b', uid: 'b-1', at: 2, ...ready });
    await report({ name: 'a', ...(uid === undefined ? {} : { uid }), at: 3, ...uninstalled, reason });
    expect(await listed()).toEqual([['b', 'b-1']]);
    const events = await plane.call('GET', '/clusters/prod-eu/events');
    expect(events.body['items']).toHaveLength(3);
  });

  it('shows what was installed again after it was gone', async () => {
    await report({ name: 'a', uid: 'a-1', at: 1, ...uninstalled }, { name: 'a', at: 2, ...uninstalled });
    await report({ name: 'a', uid: 'a-2', at: 3, ...ready });
    expect(await listed()).toEqual([['a', 'a-2']]);
  });

  it.for<[string, Partial<Report>, Partial<Report>]>([
    ['times', { transition: '2026-11-28T10:05:00Z' }, { transition: '2026-11-28T10:06:00Z' }],
    [
      'timestamps only',
      { timestamp: '2026-11-28T10:05:00Z' },
      { transition: undefined, timestamp: '2026-11-28T10:06:00Z' },
    ],
    [
      'the time of their arrival',
      { transition: undefined, timestamp: undefined },
      { transition: undefined, timestamp: undefined },
    ],
    ['a clock that ran ahead', { transition: '9999-12-31T23:59:59-23:59' }, { transition: '9998-01-01T00:00:00Z' }],
  ])('shows what was made anew by a client without sequence, told by %s', async ([, old, anew]) => {
    // The one that is gone had been changed often; who is made anew begins with generation 1.
    const gone = { name: 'a', uid: 'z-old', generation: 7, ...uninstalled, ...old };
    await report({ name: 'a', uid: 'z-old', generation: 6, ...ready, ...old }, gone);
    expect(await listed()).toEqual([]);
    await report({ name: 'a', uid: 'b-new', generation: 1, ...ready, ...anew });
    expect(await listed()).toEqual([['a', 'b-new']]);
    // Late, of the one before.
    const late = { transition: '2026-11-28T10:00:00Z', timestamp: '2026-11-28T10:00:00Z' };
    if (anew.timestamp !== undefined || anew.transition !== undefined) {
      await report({ name: 'a', uid: 'z-old', generation: 5, ...ready, type: 'Degraded', ...late });
    }
    expect(await listed()).toEqual([['a', 'b-new']]);
  });

  it('shows what is not ready for another reason', async () => {
    await report({ name: 'a', uid: 'a-1', at: 1, status: 'False', reason: 'Uninstalling' });
    expect(await listed()).toEqual([['a', 'a-1']]);
  });
});
