import { describe, expect, it } from 'vitest';
import { registerCommand } from '../../src/operator/register-command.ts';
import type { Condition } from '../../src/protocol/condition.ts';
import { findCondition } from '../../src/resources/conditions.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { NAMESPACE } from '../operator/operator-world.ts';
import { AbsenceStage } from './absence-stage.ts';

const DAY_MS = 86_400_000;
const KEYPAIR = { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: 'service-operator-keypair' };

interface Left extends AsyncDisposable {
  readonly stage: AbsenceStage;
  readonly before: Record<string, string>;
  readonly history: unknown;
}

/** A cluster with an application, whose operator stops; then 31 days pass. */
async function away(mode: 'pull' | 'gitops'): Promise<Left> {
  await using owned = new AsyncDisposableStack();
  const stage = owned.use(await AbsenceStage.start(mode));
  await stage.system.bring(INSTALL, 'ready');
  const before = await stage.identities();
  const history = await intents(stage);
  await stage.system.world.stopAll();
  await stage.system.plane.stop();
  stage.clock.skip(31 * DAY_MS);
  await stage.system.plane.startAgain();
  stage.forgetWrites();
  const { body } = await stage.system.plane.call('GET', '/clusters/eu');
  expect(findCondition(body['conditions'] as Condition[], 'Expired')).toMatchObject({
    status: 'True',
    reason: 'CredentialExpired',
  });
  const moved = owned.move();
  return { stage, before, history, [Symbol.asyncDispose]: async () => await moved.disposeAsync() };
}

async function intents({ system }: AbsenceStage): Promise<unknown> {
  return (await system.plane.call('GET', `/clusters/${system.clusterId}/intents`)).body['items'];
}

/** The same objects, the same history, and work goes on. */
async function expectAllStayed({ stage, before, history }: Left): Promise<void> {
  expect(await stage.identities()).toEqual(before);
  expect(await intents(stage)).toEqual(history);
  await stage.system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
  expect(await stage.identities()).toEqual(before);
  expect(stage.writes(['DELETE', 'POST'])).toEqual([]);
}

describe.each(['pull', 'gitops'] as const)('A8: back after 31 days, in %s mode', (mode) => {
  it('an operator that has its key comes in by itself; workloads and history stay', { timeout: 60_000 }, async () => {
    await using left = await away(mode);
    const { world } = left.stage.system;
    await world.start(left.stage.clock);
    await world.until('Authenticated', 'True', 'CredentialRecovered');
    await expectAllStayed(left);
  });

  it('one that has lost its key needs one command; workloads and history stay', { timeout: 60_000 }, async () => {
    await using left = await away(mode);
    const { stage } = left;
    const { world, plane, clusterId } = stage.system;
    await world.cluster.api.delete(KEYPAIR);
    await world.start(stage.clock);
    const refused = await world.until('Authenticated', 'False', 'CredentialExpired');
    expect(refused.message).toContain('service-operator register --token-file=<file>');
    const { body } = await plane.call('POST', '/clusters/eu/registration-token');
    const said: string[] = [];
    const code = await registerCommand(['--token=-'], {
      config: {
        namespace: NAMESPACE,
        kubeconfig: { kind: 'text', yaml: world.cluster.sandbox.kubeconfig() },
        stateDir: world.stateDir,
        logLevel: 'silent',
      },
      clock: stage.clock,
      random: () => 0,
      out: (text) => void said.push(text),
      err: (text) => void said.push(text),
      stdin: (async function* () {
        yield String(body['registrationToken']);
      })(),
    });
    expect({ code, said }).toEqual({ code: 0, said: [`Cluster service-system/eu is registered as ${clusterId}.\n`] });
    await world.until('Authenticated', 'True', 'Registered');
    await expectAllStayed(left);
  });
});
