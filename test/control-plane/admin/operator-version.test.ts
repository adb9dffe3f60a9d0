import { describe, expect, it } from 'vitest';
import { PROJECT_VERSION } from '../../../src/runtime/project-version.ts';
import { RunningControlPlane } from '../running-control-plane.ts';

const [MAJOR = '', MINOR = ''] = PROJECT_VERSION.split('.');
const NEXT = `${MAJOR}.${Number(MINOR) + 1}.0`;

describe('the version that an admin wants an operator to run', () => {
  it('is taken, shown and audited, raises the revision once, and is taken back by null', async () => {
    await using plane = await RunningControlPlane.start();
    const id = await plane.newCluster('eu');
    const set = await plane.call('PATCH', `/clusters/${id}`, { operatorVersion: PROJECT_VERSION });
    await plane.call('PATCH', `/clusters/${id}`, { operatorVersion: PROJECT_VERSION });
    const unset = await plane.call('PATCH', `/clusters/${id}`, { operatorVersion: null });
    expect([set, unset].map(({ status, body }) => [status, body['desiredOperatorVersion']])).toEqual([
      [200, PROJECT_VERSION],
      [200, undefined],
    ]);
    expect(plane.query("SELECT summary, actor FROM audit WHERE kind = 'OperatorVersionSet' ORDER BY id")).toEqual([
      { summary: `cluster eu: operator to run ${PROJECT_VERSION}, was not said`, actor: expect.any(String) },
      { summary: `cluster eu: operator to run whatever it runs, was ${PROJECT_VERSION}`, actor: expect.any(String) },
    ]);
    expect(plane.query('SELECT config_revision FROM clusters')).toEqual([{ config_revision: 3 }]);
  });

  it.each([
    ['v0.2.0', 'must be a version as an image is tagged with, like 0.2.0: no v before it, no build metadata'],
    ['latest', 'must be a version as an image is tagged with, like 0.2.0: no v before it, no build metadata'],
    [NEXT, 'upgrade the control plane first'],
  ])('is refused when it is %s', async (operatorVersion, message) => {
    await using plane = await RunningControlPlane.start();
    const id = await plane.newCluster('eu');
    const { status, body } = await plane.call('PATCH', `/clusters/${id}`, { operatorVersion });
    expect([status, body['error']]).toEqual([400, 'constraint_violated']);
    expect(JSON.stringify(body)).toContain(message);
    expect(body['message']).toMatch(/^\/operatorVersion: (must|control plane) /);
    expect(plane.query('SELECT desired_operator_version, config_revision FROM clusters')).toEqual([
      { desired_operator_version: null, config_revision: 1 },
    ]);
  });

  it('is shown beside the one that runs, with whether this control plane works with it', async () => {
    await using plane = await RunningControlPlane.start();
    const id = await plane.newCluster('eu');
    await plane.execute('UPDATE clusters SET operator_version = ?', NEXT);
    const { body } = await plane.call('GET', `/clusters/${id}`);
    expect([body['operatorVersion'], body['operatorSupport']]).toEqual([NEXT, 'newer']);
    expect(body['conditions']).toContainEqual(
      expect.objectContaining({ type: 'OperatorSupported', status: 'False', reason: 'OperatorNewer' }),
    );
  });
});
