import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { FaultyProxy } from './faulty-proxy.ts';
import type { Report } from './run-checks.ts';

const MAIN = join(import.meta.dirname, 'main.ts');
const run = promisify(execFile);

let plane: RunningControlPlane;
let proxy: FaultyProxy;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  proxy = await FaultyProxy.start(plane.url);
});

afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await plane[Symbol.asyncDispose]();
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function conformance(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  try {
    const { stdout, stderr } = await run(process.execPath, [MAIN, ...args], { env: { PATH: '', ...env } });
    return { code: 0, stdout, stderr };
  } catch (error) {
    return error as Ended;
  }
}

async function newRegistrationToken(slug: string): Promise<string> {
  const id = await plane.newCluster(slug, { allowedCatalogEntries: [], connectivityMode: 'pull' });
  const { body } = await plane.call('POST', `/clusters/${id}/registration-token`);
  return String(body['registrationToken']);
}

describe('the conformance command', () => {
  it('says pass and skip with section and sentence, counts, and ends with 0', async () => {
    const token = await newRegistrationToken('whole');
    const args = ['--url', plane.url, '--registration-token', token, '--only', 'register'];
    const { code, stdout } = await conformance(args);
    expect(stdout).toContain(
      'pass  Register (Specification, Registration): the registration token is never accepted again\n',
    );
    expect(stdout).toContain('      register.race: needs clusters or intents of its own: give --admin-token\n');
    expect(stdout).toMatch(/\n13 passed, 0 failed, 4 skipped in \d+\.\d s\n$/);
    expect(code).toBe(0);
  });

  it('says of a failure what was sent, received and expected, without a credential in it, and ends with 1', async () => {
    proxy.fault = { change: (answer) => delete answer.headers['cache-control'] };
    const SERVICE_CONFORMANCE_REGISTRATION_TOKEN = await newRegistrationToken('faulty');
    const args = ['--url', proxy.url, '--only', 'headers.registers-ends-caching', '--json'];
    const { code, stdout } = await conformance(args, { SERVICE_CONFORMANCE_REGISTRATION_TOKEN });
    expect(code).toBe(1);
    const { findings, left } = JSON.parse(stdout) as Report;
    expect(findings).toEqual([
      {
        id: 'headers.registers-ends-caching',
        section: 'Specification, Secret handling',
        heading: 'Every request, every answer',
        sentence: expect.stringContaining('no-store'),
        verdict: 'fail',
        expected: 'cache-control: no-store',
        sent: expect.stringMatching(/^POST \/api\/agent\/register\n[\s\S]*"token":"svcreg_\[REDACTED\]"/),
        received: expect.stringMatching(/^200 after \d+ ms\n[\s\S]*"token":"svcagt_\[REDACTED\]"/),
        ms: expect.any(Number),
      },
    ]);
    expect(left).toEqual([]);
    expect(stdout).not.toContain(SERVICE_CONFORMANCE_REGISTRATION_TOKEN.slice(7, 20));
  });

  it('ends with 2 where the checks cannot be made', async () => {
    expect(await conformance([])).toMatchObject({ code: 2, stderr: expect.stringContaining('--url and') });
    expect(await conformance(['--url', 'x', '--registration-token', 'x'])).toMatchObject({ code: 2 });
    expect(await conformance(['--unknown'])).toMatchObject({ code: 2 });
    const nobody = await conformance(['--url', 'http://127.0.0.1:9', '--registration-token', 'x']);
    expect(nobody).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^conformance: .*ECONNREFUSED.*\n$/),
    });
  });

  it.each([
    ['was never issued', async () => 'x', '401 invalid_token): it was never issued'],
    [
      'was used',
      async () => {
        const token = await newRegistrationToken('used');
        await plane.call('POST', '/api/agent/register', { token }, { token: null });
        return token;
      },
      '401 registration_token_used): it was used before',
    ],
    [
      'is of a disabled cluster',
      async () => {
        const token = await newRegistrationToken('off');
        await plane.call('POST', '/clusters/off/disable');
        return token;
      },
      '403 cluster_disabled): its cluster is disabled',
    ],
    [
      'is of a cluster bound to another one',
      async () => {
        await newRegistrationToken('bound');
        await plane.call('POST', '/clusters/bound/rebind', { clusterUid: 'another' });
        const { body } = await plane.call('POST', '/clusters/bound/registration-token');
        return String(body['registrationToken']);
      },
      '403 cluster_mismatch): its cluster is bound to another Kubernetes cluster',
    ],
  ])('blames nobody else for a registration token that %s: one line, and 2', async (_which, tokenOf, why) => {
    const { code, stdout, stderr } = await conformance(['--url', plane.url, '--registration-token', await tokenOf()]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^conformance: the registration token is not taken .*\n$/);
    expect(stderr).toContain(why);
  });

  it('blames nobody else for an admin token that is not one either', async () => {
    const args = ['--url', plane.url, '--registration-token', await newRegistrationToken('fine'), '--admin-token', 'x'];
    const { code, stdout, stderr } = await conformance(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe('conformance: the admin token is not taken (401): give one of this control plane, or none\n');
  });
});
