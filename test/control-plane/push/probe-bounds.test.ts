import { expect, it } from 'vitest';
import { eachBounded } from '../../../src/control-plane/push/each-bounded.ts';
import { probePush, type PushProbed } from '../../../src/control-plane/push/probe-push.ts';
import { KubeError } from '../../../src/kube/cluster-api.ts';
import { namespaceIsNotLabelled } from '../../../src/policy/namespace-is-not-labelled.ts';
import { refusalText } from '../../../src/policy/policy-violation.ts';
import type { Reason } from '../../../src/resources/reasons.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const CLUSTER = { id: 'c-0123456789abcdef', slug: 'prod-eu' };
const NEVER = new AbortController().signal;
type Connection = Parameters<typeof probePush>[0]['connection'];

/** An API server that is this cluster's and lets everything pass, but for what a test says. */
function server(over: Partial<Connection>): Connection {
  const items = [{ metadata: { name: 'prod-eu' }, status: { clusterId: CLUSTER.id } }];
  return {
    version: async () => await Promise.resolve({ gitVersion: 'v1.34.0' }),
    list: (async () => await Promise.resolve({ items, resourceVersion: '1' })) as unknown as Connection['list'],
    apply: (async (object: unknown) => await Promise.resolve({ object, created: true })) as Connection['apply'],
    account: {
      may: async ({ verb, subresource, resource, group, namespace }) =>
        await Promise.resolve(
          verb !== '*' &&
            verb !== 'impersonate' &&
            subresource === undefined &&
            group.endsWith('service.io') &&
            namespace !== undefined &&
            resource !== '*',
        ),
      requestToken: async () => await Promise.reject(new Error('no token is asked for')),
    },
    ...over,
  };
}

async function probe(connection: Connection, namespaces: readonly string[], clock = new ManualClock()) {
  return await probePush({ connection, clock }, { ...CLUSTER, allowedNamespaces: namespaces }, NEVER);
}

/** What the operator's webhook answers by the API server. */
function denied(lines: string): Connection['apply'] {
  return async () => {
    const message = `admission webhook "applicationinstances.admission.service.io" denied the request: ${lines}`;
    return await Promise.reject(new KubeError(message, { status: 403, reason: 'Forbidden' }));
  };
}

const dryRunOf = ({ probe: { probes } }: PushProbed): unknown => {
  const { ok, message } = probes.find(({ name }) => name === 'dry-run') ?? {};
  return [ok, message];
};

const violation = (message: string): { reason: Reason; message: string } => ({ reason: 'ChartNotAllowed', message });

it('passes on what the webhook says of a namespace, and not what it says of the object of the probe', async () => {
  const chart = violation('catalog entry probe is not allowed for this cluster; allowed: none');
  const [label] = namespaceIsNotLabelled('shop', { namespace: undefined });
  if (label === undefined) throw new Error('it is not labelled');
  const both = await probe(server({ apply: denied(refusalText([label, chart])) }), ['shop']);
  expect(dryRunOf(both)).toEqual([false, `an apply is refused: ${label.message}`]);
  const chartAlone = await probe(server({ apply: denied(refusalText([chart])) }), ['shop']);
  expect(dryRunOf(chartAlone)).toEqual([true, 'an apply would be taken in 1 namespace']);
});

it('takes the refusal of any other webhook for what it is', async () => {
  const message = 'admission webhook "policy.example.com" denied the request: namespace shop is not yours';
  const apply: Connection['apply'] = async () =>
    await Promise.reject(new KubeError(message, { status: 403, reason: 'Forbidden' }));
  expect(dryRunOf(await probe(server({ apply }), ['shop']))).toEqual([false, `an apply is refused: shop: ${message}`]);
});

it('asks at most eight things at once, over hundreds of namespaces, and lists a few of those that fail', async () => {
  let [now, most, asked] = [0, 0, 0];
  const may: Connection['account']['may'] = async ({ namespace, resource }) => {
    asked += 1;
    most = Math.max(most, (now += 1));
    await new Promise(setImmediate);
    now -= 1;
    return (resource === 'clusters' || Number(namespace?.slice(2)) < 200) && namespace !== undefined;
  };
  const base = server({});
  const namespaces = Array.from({ length: 300 }, (_, index) => `n-${index}`);
  const probed = await probe(server({ account: { ...base.account, may } }), namespaces);
  expect([most, asked > 300 * 14]).toEqual([8, true]);
  const rights = probed.probe.probes.find(({ name }) => name === 'rights');
  expect([rights?.ok, rights?.message.match(/ in n-/g)?.length, rights?.message]).toEqual([
    false,
    5,
    expect.stringContaining('; and 195 more: bind the role'),
  ]);
});

it('ends when its time is over, and says how far it came', async () => {
  const clock = new ManualClock();
  const base = server({});
  const may: Connection['account']['may'] = async ({ verb }, signal) => {
    if (verb !== 'patch') return true;
    clock.advance(45_000);
    return await new Promise((_resolve, reject) => {
      const end = (): void => reject(new KubeError('aborted', { status: 0, reason: 'Aborted' }));
      if (signal?.aborted === true) end();
      signal?.addEventListener('abort', end);
    });
  };
  const probed = await probe(server({ account: { ...base.account, may } }), ['shop'], clock);
  expect(probed.probe.probes.map(({ name, ok }) => [name, ok])).toEqual([
    ['reachable', true],
    ['same-cluster', true],
    ['rights', false],
  ]);
  expect(probed.probe.probes.at(-1)?.message).toContain('was not through within 45 s (rights)');
});

it('begins nothing new after the first fault', async () => {
  let begun = 0;
  const work = async (): Promise<void> => {
    begun += 1;
    await Promise.reject(new Error('down'));
  };
  await expect(eachBounded(Array.from({ length: 100 }), work)).rejects.toThrow('down');
  expect(begun).toBe(8);
});
