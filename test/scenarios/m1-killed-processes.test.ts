import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Program } from '../../examples/first-app/program.ts';
import {
  prepareCluster,
  startOperator,
  startReleaseController,
  startSandbox,
  untilConnected,
} from '../../examples/first-app/stage.ts';
import { makePushKubeconfig } from '../../examples/mode-switch/push-kubeconfig.ts';
import { switchMode, type ShownSwitch } from '../../examples/mode-switch/switch-mode.ts';
import { WriteCounter } from '../../examples/mode-switch/write-counter.ts';
import { AdminClient } from '../../src/cli/admin-client.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { defineKinds } from '../../src/kube/define-kinds.ts';
import { mintToken } from '../../src/protocol/token.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { fluxCrds } from '../../src/sandbox/flux-crds.ts';
import { PODINFO } from '../control-plane/running-control-plane.ts';
import { RandomNumbers } from '../support/mode-world/random-numbers.ts';
import { freePorts } from '../support/real-cluster/free-ports.ts';

const CONTROL_PLANE = join(import.meta.dirname, '..', '..', 'src', 'control-plane', 'main.ts');
const ROUND = ['push', 'gitops', 'pull'] as const;
const SPEC = { slug: 'eu', connectivityMode: 'pull', allowedNamespaces: ['shop'] } as const;
/** `MODE_SEED` chooses when who is killed. */
const SEED = Number(process.env['MODE_SEED'] ?? 1);

it(
  'M1: a switch goes on where it was when a process of either program is killed with SIGKILL',
  { timeout: 300_000 },
  async () => {
    process.stdout.write(`MODE_SEED ${SEED}\n`);
    const random = new RandomNumbers(SEED);
    const folder = mkdtempSync(join(tmpdir(), 'killed-modes-'));
    await using owned = new AsyncDisposableStack();
    owned.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
    const [port = 0] = await freePorts(1);
    const token = mintToken('svcadm', randomBytes);
    const startPlane = async (): Promise<Program> =>
      await Program.start({
        name: 'control plane',
        args: [CONTROL_PLANE],
        env: {
          SERVICE_LISTEN: `127.0.0.1:${port}`,
          SERVICE_DATA_DIR: join(folder, 'control-plane'),
          SERVICE_ADMIN_TOKEN: token.expose(),
        },
        logFile: join(folder, 'control-plane.log'),
        startTimeoutMs: 60_000,
        readyLine: /http:\/\//,
      });
    let plane = await startPlane();
    owned.defer(async () => await plane[Symbol.asyncDispose]());
    owned.use(await startSandbox(folder));
    const kubeconfig = join(folder, 'kubeconfig');
    const yaml = readFileSync(kubeconfig, 'utf8');
    const connection = { userAgent: 'test', clock: systemClock, random: Math.random };
    const api = owned.use(connectCluster({ kubeconfig: { kind: 'text', yaml }, ...connection }));
    await defineKinds(api, fluxCrds(), { fieldManager: 'test', clock: systemClock });
    owned.use(await startReleaseController(folder, kubeconfig));
    const admin = new AdminClient({ baseUrl: `http://127.0.0.1:${port}`, token });
    await admin.call('PUT', '/catalog/podinfo', PODINFO);
    const created = await admin.call<{ cluster: { id: string }; registrationToken: string }>('POST', '/clusters', {
      ...SPEC,
      displayName: 'Europe',
      allowedCatalogEntries: ['podinfo'],
      allowedOperationTemplates: [],
    });
    const { id } = created.cluster;
    await prepareCluster(api, SPEC, `http://127.0.0.1:${port}`, created.registrationToken);
    let operator = await startOperator(folder, kubeconfig);
    owned.defer(async () => await operator[Symbol.asyncDispose]());
    await untilConnected(admin, id);
    const counter = owned.use(WriteCounter.start(api));

    const accept = async (intent: Record<string, unknown>): Promise<string> =>
      (await admin.call<{ id: string }>('POST', `/clusters/${id}/intents`, { namespace: 'shop', ...intent })).id;
    const over = async (intent: string, state: string): Promise<void> => {
      const now = async (): Promise<string> => (await admin.call<{ state: string }>('GET', `/intents/${intent}`)).state;
      await expect.poll(now, { timeout: 60_000, interval: 100 }).toBe(state);
    };
    const names = ['app-1', 'app-2', 'app-3', 'app-4', 'app-5'];
    const install = { action: 'install', catalogEntry: 'podinfo', chartVersion: '6.5.0' };
    for (const name of names) await over(await accept({ ...install, name }), 'ready');
    const uids = counter.uids();

    for (const [step, to] of ROUND.entries()) {
      const updated = await accept({ action: 'update', name: 'app-4', values: { ui: { message: to } } });
      const removed = await accept({ action: 'uninstall', name: names[step] ?? '' });
      const push = to === 'push' ? { push: { kubeconfig: await makePushKubeconfig(api, kubeconfig) } } : {};
      const switched = (async (): Promise<ShownSwitch> => await patiently(admin, id, to, push))();
      await systemClock.sleep(random.within(100, 3000));
      if (random.chance(0.5)) {
        await plane.kill();
        plane = await startPlane();
      } else {
        await operator.kill();
        operator = await startOperator(folder, kubeconfig);
      }
      expect(await switched).toMatchObject({ state: 'active' });
      await over(updated, 'ready');
      await over(removed, 'removed');
      const left = new Map([...uids].filter(([name]) => !names.slice(0, step + 1).includes(name)));
      expect(counter.uids()).toEqual(left);
    }
    expect(counter.takeDeleted()).toEqual(names.slice(0, ROUND.length));
  },
);

/** Asks again after the control plane was gone: the same target again is the same switch. */
async function patiently(
  admin: AdminClient,
  id: string,
  to: (typeof ROUND)[number],
  more: Record<string, unknown>,
): Promise<ShownSwitch> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await switchMode(admin, id, to, more);
    } catch (error) {
      const { items } = await admin
        .call<{ items: readonly ShownSwitch[] }>('GET', `/clusters/${id}/mode-switches`)
        .catch(() => ({ items: [] }));
      const last = items.find((one) => 'to' in one && one.to === to);
      if (last?.finishedAt !== undefined) return last;
      if (attempt > 100) throw error;
      await systemClock.sleep(200);
    }
  }
}
