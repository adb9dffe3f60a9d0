import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KubeError } from '../../src/kube/cluster-api.ts';
import { type ApplyStage, setApplyStage } from './apply-stage.ts';
import { file, stone } from './manifests.ts';

let stage: ApplyStage;

beforeEach(async () => {
  stage = await setApplyStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

describe('the apply loop under load and faults', () => {
  it('reads a large set by lists, and finds each object in them', async () => {
    const objects = Array.from({ length: 30 }, (_, index) => file({ name: `app-${index}` }));
    await stage.apply({ objects });
    stage.recording.forget();
    const report = await stage.apply({ objects });
    expect(new Set([...report.outcomes.values()].map(({ state }) => state))).toEqual(new Set(['unchanged']));
    expect(stage.recording.calls.map(({ verb, about }) => `${verb} ${about}`)).toEqual([
      'list ApplicationInstance',
      'get Namespace shop',
    ]);
  });

  it('does not wait out every item once the API server is gone', async () => {
    const gone = async (): Promise<never> => {
      throw new KubeError('connection refused', { status: 0, reason: 'ConnectionFailed' });
    };
    stage.recording.api.get = gone;
    const objects = Array.from({ length: 15 }, (_, index) => file({ name: `app-${index}` }));
    const report = await stage.apply({ objects });
    expect(report.retryable).toBe(true);
    const said = [...report.outcomes.values()].map((outcome) =>
      'message' in outcome ? outcome.message : outcome.state,
    );
    expect(said.filter((message) => message.endsWith('not tried in this pass')).length).toBeGreaterThan(0);
    expect(said.every((message) => message.startsWith('the API server does not answer'))).toBe(true);
  });

  it('reads anew and goes on when the object changes under its write', async () => {
    await stage.apply({ objects: [file()] });
    stage.cluster.sandbox.faults.add({
      match: ({ method, path }) => method === 'PATCH' && path.endsWith('/podinfo'),
      times: 1,
      respond: {
        status: 409,
        body: JSON.stringify({
          kind: 'Status',
          code: 409,
          reason: 'Conflict',
          message: 'the object has been modified',
        }),
      },
    });
    const report = await stage.apply({ objects: [file({ source: '1.2', version: '6.6.1' })] });
    expect(report.outcomes.get('apps/shop/podinfo.yaml')).toMatchObject({ state: 'applied' });
    expect(stage.recording.writes.filter((write) => write === 'apply ApplicationInstance shop/podinfo')).toHaveLength(
      3,
    );
    expect((await stage.read())?.spec.chart.version).toBe('6.6.1');
  });

  it('ends up the same wherever it is killed', async () => {
    await stage.apply({ objects: [file({ source: '1.1' }), file({ name: 'old' })] });
    const uid = (await stage.read())?.metadata.uid;
    const set = { objects: [file({ source: '1.2', version: '6.6.1' })], removals: [stone({ name: 'old' })] };
    let died = true;
    for (let after = 0; died; after += 1) {
      await stage.restart();
      died = false;
      let left = after;
      stage.recording.beforeWrite = () => {
        left -= 1;
        if (left >= 0) return;
        died = true;
        throw new Error('killed');
      };
      await stage.apply(set).catch(() => undefined);
    }
    expect((await stage.read())?.metadata.uid).toBe(uid);
    expect((await stage.read())?.spec.chart.version).toBe('6.6.1');
    expect(await stage.read('old')).toBeUndefined();
    await stage.restart();
    await stage.apply(set);
    expect(stage.recording.writes).toEqual([]);
  });
});
