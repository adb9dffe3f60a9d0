import { once } from 'node:events';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { connectCluster } from '../src/kube/connect-cluster.ts';
import { AdmissionServer } from '../src/operator/webhook/admission-server.ts';
import { decideReview } from '../src/operator/webhook/decide-review.ts';
import { issueAuthority, issueServing } from '../src/operator/webhook/webhook-certificate.ts';
import { operatorAccounts } from '../src/policy/operator-accounts.ts';
import type { KubeObject } from '../src/resources/kube-object.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { createLogger } from '../src/runtime/logger.ts';
import { anInstance, aNamespace, aPolicy } from '../test/reconcile/manifests.ts';
import { installDefinitions } from '../test/support/install-definitions.ts';
import { startAssetsCluster } from '../test/support/real-cluster/assets-cluster.ts';
import { realClusterSource } from '../test/support/real-cluster/cluster-source.ts';

/**
 * What it costs a status patch on a real API server that the webhook is asked about it: patches of two objects in turns over
 * one connection, by an account that the webhook takes for the operator's; only one of the two is labelled for the webhook.
 */
const ROUNDS = 3;
const PATCHES = 200;
const WARM_UP = 50;

const source = realClusterSource();
if (source?.kind !== 'assets') throw new Error('this needs the binaries of a cluster: run test/kube/build.sh');
await using taken = new AsyncDisposableStack();
const cluster = taken.use(await startAssetsCluster(source, {}));
const kubeconfig = { kind: 'text', yaml: cluster.kubeconfig } as const;
const api = taken.use(connectCluster({ kubeconfig, userAgent: 'bench', clock: systemClock, random: Math.random }));
await installDefinitions(api, { own: true });

const admission = new AdmissionServer({
  logger: createLogger('bench', 'silent'),
  judge: async (review) =>
    await decideReview(review, {
      accounts: operatorAccounts('service-system', review.userInfo.username),
      policy: () => aPolicy(),
      namespaces: () => () => aNamespace(),
      now: () => new Date(),
    }),
});
await register(await listen());

/** Answers the authority to trust, PEM, and the port. */
async function listen(): Promise<{ readonly certificate: string; readonly port: number }> {
  const now = new Date();
  const authority = await issueAuthority(now);
  admission.serve(await issueServing(authority, ['localhost'], now));
  admission.server.listen(0, '127.0.0.1');
  await once(admission.server, 'listening');
  return { certificate: authority.certificate, port: (admission.server.address() as AddressInfo).port };
}

/** For the status of what is labelled `asked: yes`. */
async function register({ certificate, port }: Awaited<ReturnType<typeof listen>>): Promise<void> {
  const what = { apiGroups: ['apps.service.io'], apiVersions: ['v1alpha1'], operations: ['UPDATE'] };
  const webhook = {
    name: 'applicationinstances.admission.service.io',
    admissionReviewVersions: ['v1'],
    failurePolicy: 'Ignore',
    sideEffects: 'None',
    objectSelector: { matchLabels: { asked: 'yes' } },
    clientConfig: {
      url: `https://127.0.0.1:${port}/admission/applicationinstances`,
      caBundle: Buffer.from(certificate).toString('base64'),
    },
    rules: [{ ...what, resources: ['applicationinstances/status'] }],
  };
  const identity = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration' };
  const configuration: KubeObject = { ...identity, metadata: { name: 'bench' }, webhooks: [webhook] };
  await api.create(configuration, 'bench');
}

await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, 'bench');
for (const name of ['yes', 'no']) {
  const instance = anInstance({ name });
  const labels = { ...instance.metadata.labels, asked: name };
  await api.create({ ...instance, metadata: { ...instance.metadata, labels } }, 'bench');
}

const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: cluster.caPem });
let serial = 0;

/** One status that differs from the last, in milliseconds. */
async function patch(name: 'yes' | 'no'): Promise<number> {
  serial += 1;
  const condition = { type: 'Ready', status: 'False', reason: 'Bench', message: `number ${serial}` };
  const body = JSON.stringify({
    status: { conditions: [{ ...condition, lastTransitionTime: new Date().toISOString() }] },
  });
  const from = performance.now();
  const sent = request(
    `${cluster.url}/apis/apps.service.io/v1alpha1/namespaces/shop/applicationinstances/${name}/status`,
    {
      method: 'PATCH',
      agent,
      headers: { authorization: `Bearer ${cluster.adminToken}`, 'content-type': 'application/merge-patch+json' },
    },
  );
  sent.end(body);
  const [response] = await once(sent, 'response');
  const answer = await text(response);
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${answer}`);
  return performance.now() - from;
}

/** Median and 90th percentile. */
function shown(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  return [0.5, 0.9].map((part) => (sorted[Math.floor(sorted.length * part)] ?? 0).toFixed(2)).join(' / ');
}

// The API server learns of the webhook a moment after it was registered.
while (admission.counts.allowed === 0) await patch('yes');
for (let done = 0; done < WARM_UP; done += 1) {
  await patch('no');
  await patch('yes');
}
for (let round = 0; round < ROUNDS; round += 1) {
  const times = { yes: [] as number[], no: [] as number[] };
  const before = admission.counts.allowed;
  for (let done = 0; done < PATCHES; done += 1) {
    const turns = done % 2 === 0 ? (['no', 'yes'] as const) : (['yes', 'no'] as const);
    for (const name of turns) times[name].push(await patch(name));
  }
  const more = times.yes.map((took, index) => took - (times.no[index] ?? 0));
  process.stdout.write(
    `${PATCHES} pairs, ms (median / 90 %): asked ${shown(times.yes)}, not asked ${shown(times.no)}, ` +
      `difference ${shown(more)}; ${admission.counts.allowed - before} reviews\n`,
  );
}
agent.destroy();
admission.server.closeAllConnections();
admission.server.close();
