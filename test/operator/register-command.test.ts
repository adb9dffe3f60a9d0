import { randomBytes } from 'node:crypto';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { registerCommand } from '../../src/operator/register-command.ts';
import { mintToken } from '../../src/protocol/token.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { CLUSTER_ID, FakeControlPlane } from './fake-control-plane.ts';
import { decoded, NAMESPACE, OperatorWorld } from './operator-world.ts';

const HINT =
  'hint: arguments show in process lists and in the history of the shell; --token-file=- reads standard input\n';

const LOOKS = new Set([1000, 10_000]);
/** Real time, but for the pauses between two looks, of the operator at the Secret and of the command at the Cluster. */
const hurried: Clock = {
  now: () => systemClock.now(),
  sleep: async (ms, signal) => await systemClock.sleep(LOOKS.has(ms) ? 50 : ms, signal),
};

function aToken(): string {
  return mintToken('svcreg', randomBytes).expose();
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function register(world: OperatorWorld, args: readonly string[], input = ''): Promise<Ran> {
  const said = { out: '', err: '' };
  const code = await registerCommand(args, {
    config: {
      namespace: NAMESPACE,
      kubeconfig: { kind: 'text', yaml: world.cluster.sandbox.kubeconfig() },
      stateDir: world.stateDir,
      logLevel: 'silent',
    },
    clock: hurried,
    random: () => 0,
    out: (text) => void (said.out += text),
    err: (text) => void (said.err += text),
    stdin: (async function* () {
      yield input;
    })(),
  });
  return { code, ...said };
}

describe('service-operator register', () => {
  it.each([
    ['a file', async (file: string) => [`--token-file=${file}`]],
    ['standard input', async () => ['--token-file=-']],
  ])(
    'takes the token from %s, hands it to the running operator and says who the cluster is',
    async (_, args) => {
      await using plane = await FakeControlPlane.start();
      await using world = await OperatorWorld.start();
      await using folder = await mkdtempDisposable(join(tmpdir(), 'register-'));
      const token = aToken();
      plane.accounts.set(token, 'fresh');
      const file = join(folder.path, 'token');
      await writeFile(file, `${token}\n`);
      await world.start(hurried);
      await world.join(plane.url);
      await world.until('Authenticated', 'False', 'NotRegistered');
      expect(await register(world, await args(file), `${token}\n`)).toEqual({
        code: 0,
        out: `Cluster service-system/eu is registered as ${CLUSTER_ID}.\n`,
        err: '',
      });
      expect(decoded(await world.secret('service-operator-credentials'), 'token')).toBe('svcagt_1');
      await expect.poll(async () => await world.secret('service-operator-registration')).toBeUndefined();
    },
    20_000,
  );

  it('A8: brings a cluster back that was away until its credential ended, its applications untouched', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    const first = await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    await world.stop(first);
    plane.revoke();
    plane.intercept = ({ authorization }, response) => {
      if (authorization !== 'Bearer svcagt_1') return false;
      plane.refuse(response, 'expired_token', 'this agent credential expired at 2026-11-28T00:00:00.000Z');
      return true;
    };
    await world.start(hurried);
    await world.until('Authenticated', 'False', 'CredentialExpired');
    const token = aToken();
    plane.accounts.set(token, 'fresh');
    const { code, out } = await register(world, [`--token=${token}`]);
    expect({ code, out }).toEqual({ code: 0, out: `Cluster service-system/eu is registered as ${CLUSTER_ID}.\n` });
    await world.until('Authenticated', 'True', 'Registered');
    expect((await world.read()).status?.clusterId).toBe(CLUSTER_ID);
  });

  it('A6: says what the control plane said of a token that another cluster has used, and takes it away again', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    const token = aToken();
    plane.accounts.set(token, 'used');
    await world.start(hurried);
    await world.join(plane.url);
    await world.until('Authenticated', 'False', 'NotRegistered');
    const { code, err } = await register(world, [`--token=${token}`]);
    expect({ code, err }).toEqual({
      code: 1,
      err: `${HINT}service-operator register: The registration token has been used already: by another cluster, or by this one if it was stopped before it could save its credential, or if its credential Secret was deleted since. Issue a fresh token for this cluster (servicectl clusters registration-token <cluster>) and put it into the Secret service-operator-registration under the key token, or set it as spec.registration.token.\n`,
    });
    expect(await world.secret('service-operator-registration')).toBeUndefined();
    expect(await world.secret('service-operator-credentials')).toBeUndefined();
  });

  it('leaves a credential that works alone', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Authenticated', 'True', 'Registered');
    const { code, out, err } = await register(world, ['--token=-'], aToken());
    expect({ code, err, out: out.slice(0, 80) }).toEqual({
      code: 0,
      err: '',
      out: `Cluster service-system/eu is registered as ${CLUSTER_ID} and its credential`,
    });
    expect(await world.secret('service-operator-registration')).toBeUndefined();
  });

  it('says after a while that no operator runs, and leaves the token for it in place of an older one', async () => {
    await using world = await OperatorWorld.start();
    await world.join('http://control.test');
    const [older, newer] = [aToken(), aToken()];
    expect((await register(world, ['--timeout=0', '--token=-'], older)).code).toBe(3);
    const { code, err } = await register(world, ['--timeout=0', '--token=-'], newer);
    expect({ code, err }).toEqual({
      code: 3,
      err: 'service-operator register: no operator runs: nobody holds the Lease service-system/service-operator. Look at kubectl -n service-system get pods. The token lies in the Secret service-system/service-operator-registration until the operator takes it; delete that to take it back.\n',
    });
    expect(decoded(await world.secret('service-operator-registration'), 'token')).toBe(newer);
  });

  it('fails where there is no Cluster resource', async () => {
    await using world = await OperatorWorld.start();
    const { code, err } = await register(world, ['--token=-'], aToken());
    expect({ code, err: err.slice(0, 102) }).toEqual({
      code: 1,
      err: 'service-operator register: there is no Cluster resource in the namespace service-system. Run what `ser',
    });
  });

  it.each([
    [[], 'give the token by --token-file=<file>, - for standard input, or by --token=<token>; --help says more'],
    [['--token=a', '--token-file=b'], 'give the token by --token-file=<file>'],
    [['--token-file=/nonexistent'], 'ENOENT'],
    [['--token='], 'there is no token in what was given'],
    [['--token=svcadm_x'], 'this is another kind of token; a registration token begins with svcreg_'],
    [['--token=svcreg_cut'], 'the token was not copied whole'],
    [['--token=a b'], 'this is no token'],
    [['--token=a', '--timeout=soon'], '--timeout takes whole seconds'],
    [['--tokn=a'], "Unknown option '--tokn'"],
  ])('refuses %j before it touches anything', async (args, message) => {
    await using world = await OperatorWorld.start();
    const { code, err } = await register(world, args);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) as string });
    expect(err).not.toContain('svcreg_cut');
  });

  it('explains itself', async () => {
    await using world = await OperatorWorld.start();
    const { code, out } = await register(world, ['--help']);
    expect({ code, usage: out.split('\n')[2] }).toEqual({
      code: 0,
      usage: 'Usage: service-operator register --token-file=<file> [--timeout=<seconds>]',
    });
  });
});
