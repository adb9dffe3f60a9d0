import { describe, expect, it } from 'vitest';
import { OPERATOR_VERSION } from '../../src/operator/operator-version.ts';
import { VersionCheck } from '../../src/operator/version-check.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { FakeControlPlane } from './fake-control-plane.ts';
import { OperatorWorld } from './operator-world.ts';

/** An operator of one version, and what it says of the control planes that it hears of. */
class Checked {
  readonly told: string[] = [];
  readonly warnings: string[] = [];
  readonly check: VersionCheck;

  constructor(version: string) {
    const logger = createLogger('test', 'silent');
    logger.warn = (...said: readonly unknown[]) => void this.warnings.push(String(said.at(-1)));
    this.check = new VersionCheck({
      version,
      logger,
      onCondition: ({ type, status, reason, message }) =>
        void this.told.push(`${type}=${status} ${reason}: ${message}`),
    });
  }

  hear(...versions: readonly string[]): this {
    for (const version of versions) this.check.heard(version);
    return this;
  }
}

const AS_WELL = 'Both go on as well as they can.';

describe('the check of the two versions', () => {
  it.each(['0.4.0', '0.4.9', '0.5.1', '0.6.0', '0.6.0-rc.1'])(
    'is silent at a control plane of %s, which works with an operator of 0.4.0',
    (controlPlane) => {
      const { told, warnings } = new Checked('0.4.0').hear(controlPlane);
      expect([told, warnings]).toEqual([[], []]);
    },
  );

  it.each(['0.3.9', '0.0.1'])('warns of a control plane of %s, which is older', (controlPlane) => {
    const { told, warnings } = new Checked('0.4.0').hear(controlPlane);
    const message = `The control plane is ${controlPlane}, this operator 0.4.0: upgrade the control plane first. ${AS_WELL}`;
    expect(told).toEqual([`VersionSupported=False ControlPlaneOlder: ${message}`]);
    expect(warnings).toEqual([message]);
  });

  it.each(['0.7.0', '1.0.0'])('warns of a control plane of %s, which is too new', (controlPlane) => {
    const { told, warnings } = new Checked('0.4.0').hear(controlPlane);
    const message = `The control plane is ${controlPlane}, this operator 0.4.0: upgrade the operator. ${AS_WELL}`;
    expect(told).toEqual([`VersionSupported=False OperatorTooOld: ${message}`]);
    expect(warnings).toEqual([message]);
  });

  it('says the same once, however many answers carry it', () => {
    const { told, warnings } = new Checked('0.4.0').hear('0.3.0', '0.3.0', '0.3.0');
    expect([told.length, warnings.length]).toEqual([1, 1]);
  });

  it('takes the warning back when the control plane was upgraded, and is silent from then on', () => {
    const { told, warnings } = new Checked('0.4.0').hear('0.3.0', '0.4.0', '0.5.0');
    expect(told.map((text) => text.split(':')[0])).toEqual([
      'VersionSupported=False ControlPlaneOlder',
      'VersionSupported=True WithinSkew',
    ]);
    expect(told[1]).toBe('VersionSupported=True WithinSkew: The control plane is 0.4.0, this operator 0.4.0.');
    expect(warnings).toHaveLength(1);
  });

  it('says what is the case now when one side passes the other', () => {
    const { told } = new Checked('0.4.0').hear('0.3.0', '0.7.0', '0.3.0');
    expect(told.map((text) => text.split(':')[0])).toEqual([
      'VersionSupported=False ControlPlaneOlder',
      'VersionSupported=False OperatorTooOld',
      'VersionSupported=False ControlPlaneOlder',
    ]);
  });

  it('neither warns nor takes back anything for what is no version', () => {
    const { told, warnings } = new Checked('0.4.0').hear('', 'latest', '0.3.0', 'unknown');
    expect([told.length, warnings.length]).toEqual([1, 1]);
    expect(new Checked('dev').hear('0.3.0').told).toEqual([]);
  });
});

describe('an operator', () => {
  it('says in its Cluster that the control plane is too new, and later that it is not', async () => {
    await using plane = await FakeControlPlane.start();
    let version = '99.0.0';
    plane.intercept = (_request, response) => {
      response.setHeader('service-version', version);
      return false;
    };
    await using world = await OperatorWorld.start();
    await world.start();
    plane.accounts.set('svcreg_a', 'fresh');
    await world.join(plane.url, 'svcreg_a');
    const { message } = await world.until('VersionSupported', 'False', 'OperatorTooOld');
    expect(message).toContain(`The control plane is 99.0.0, this operator ${OPERATOR_VERSION}: upgrade the operator.`);
    // It goes on all the same.
    await world.until('ControllersHealthy', 'True', 'ControllersRunning');
    version = OPERATOR_VERSION;
    plane.configure({});
    await world.until('VersionSupported', 'True', 'WithinSkew');
  });
});
