import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ContractContext } from './contract-context.ts';
import type { Json } from './kube-http.ts';
import { ALLOWED, patchReply, startWebhookServer, type WebhookReply, type WebhookServer } from './webhook-server.ts';

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';
const NAME = 'contract.example.com';
type Phase = 'validating' | 'mutating';

/** Admission webhooks: who is asked what, and what becomes of the answer. */
export function describeWebhooks(context: () => ContractContext): void {
  let server: WebhookServer;
  let serial = 0;
  const collection = (phase: Phase): string => `${REGISTRATION}/${phase}webhookconfigurations`;

  beforeAll(async () => {
    server = await startWebhookServer();
  });
  afterAll(async () => {
    for (const phase of ['validating', 'mutating'] as const)
      await context().http.delete(`${collection(phase)}/contract`);
    await server[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    server.reply = () => ALLOWED;
  });

  function webhook(more: Json = {}, rule: Json = {}): Json {
    const { namespace } = context();
    return {
      name: NAME,
      rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], ...rule }],
      clientConfig: { url: `${server.url}/asked`, caBundle: server.ca },
      objectSelector: { matchLabels: { asked: namespace } },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      ...more,
    };
  }

  function configMap(name: string, metadata: Json = {}): Json {
    const labels = { asked: context().namespace };
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels, ...metadata }, data: { a: '1' } };
  }

  /** Real servers learn of a configuration a little later: a probe with a label of its own tells when. */
  async function register(phase: Phase, ...webhooks: readonly Json[]): Promise<void> {
    const { http, configMaps } = context();
    for (const each of ['validating', 'mutating'] as const) await http.delete(`${collection(each)}/contract`);
    serial += 1;
    const probe = `probe-${serial}`;
    const probing = webhook({
      name: 'probe.example.com',
      clientConfig: { url: `${server.url}/probe`, caBundle: server.ca },
      objectSelector: { matchLabels: { probe } },
    });
    const body = { metadata: { name: 'contract' }, webhooks: [probing, ...webhooks] };
    const answer = await http.post(collection(phase), body);
    if (answer.status !== 201) throw new Error(answer.text);
    const before = server.reviews.length;
    for (const end = Date.now() + 30_000; server.reviews.length === before && Date.now() < end;) {
      await http.post(`${configMaps()}?dryRun=All`, { metadata: { name: probe, labels: { probe } } });
    }
    server.reviews.length = 0;
  }

  it('sends a review with all that the request is about', async () => {
    const { http, configMaps, namespace } = context();
    await register('validating', webhook());
    await http.post(`${configMaps()}?fieldManager=tester`, configMap('reviewed'));
    await http.patch(configMaps('reviewed'), 'merge', { data: { a: '2' } });
    await http.delete(configMaps('reviewed'), { propagationPolicy: 'Background' });
    const group = { group: '', version: 'v1' };
    const common = {
      kind: { ...group, kind: 'ConfigMap' },
      resource: { ...group, resource: 'configmaps' },
      requestKind: { ...group, kind: 'ConfigMap' },
      requestResource: { ...group, resource: 'configmaps' },
      name: 'reviewed',
      namespace,
      dryRun: false,
      userInfo: { username: expect.any(String), groups: expect.arrayContaining(['system:authenticated']) },
    };
    const meta = 'meta.k8s.io/v1';
    const [create, update, remove] = server.reviews;
    expect(server.reviews).toHaveLength(3);
    expect(create).toMatchObject({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        ...common,
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        operation: 'CREATE',
        object: { apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' }, metadata: { uid: expect.any(String) } },
        oldObject: null,
        options: { apiVersion: meta, kind: 'CreateOptions', fieldManager: 'tester' },
      },
    });
    expect(update?.['request']).toMatchObject({
      ...common,
      operation: 'UPDATE',
      object: { data: { a: '2' } },
      oldObject: { data: { a: '1' } },
      options: { apiVersion: meta, kind: 'UpdateOptions' },
    });
    expect(remove?.['request']).toMatchObject({
      ...common,
      operation: 'DELETE',
      object: null,
      oldObject: { data: { a: '2' } },
      options: { apiVersion: meta, kind: 'DeleteOptions', propagationPolicy: 'Background' },
    });
  });

  it.each<readonly [string, WebhookReply, number, string, string]>([
    ['without a word', { allowed: false }, 400, '', ' without explanation'],
    ['with a message', { allowed: false, status: { message: 'no way' } }, 400, '', ': no way'],
    [
      'with a code and a reason',
      { allowed: false, status: { code: 403, reason: 'Forbidden' } },
      403,
      'Forbidden',
      ': Forbidden',
    ],
    ['with a code of its own', { allowed: false, status: { code: 418, message: 'tea' } }, 418, '', ': tea'],
    ['with a code that is none', { allowed: false, status: { code: 200, message: 'odd' } }, 400, '', ': odd'],
  ])('refuses a write that a webhook denied %s', async (_, reply, status, reason, words) => {
    const { http, configMaps } = context();
    if (serial < 2) await register('validating', webhook());
    server.reply = () => reply;
    const answer = await http.post(configMaps(), configMap('denied'));
    const message = `admission webhook "${NAME}" denied the request${words}`;
    expect([answer.status, answer.body['reason'] ?? '', answer.body['message']]).toEqual([status, reason, message]);
    server.reply = () => ALLOWED;
    expect((await http.get(configMaps('denied'))).status).toBe(404);
  });

  it.each<readonly [string, WebhookReply, string]>([
    [
      'nothing',
      { status: 200, text: '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}' },
      'webhook response was absent',
    ],
    [
      'a patch',
      { allowed: true, patchType: 'JSONPatch', patch: 'W10=' },
      'validating webhook may not return response.patch',
    ],
    [
      'an error',
      { status: 500, text: 'boom' },
      'an error on the server ("boom") has prevented the request from succeeding',
    ],
    ['that it is not there', { status: 404, text: 'no' }, 'the server could not find the requested resource'],
  ])('refuses a write when a validating webhook answers %s', async (_, reply, why) => {
    const { http, configMaps } = context();
    server.reply = () => reply;
    const { status, body } = await http.post(configMaps(), configMap('failed'));
    const message = `failed calling webhook "${NAME}": ${why}`;
    expect([status, body['reason'], body['message']]).toEqual([
      500,
      'InternalError',
      `Internal error occurred: ${message}`,
    ]);
    expect(body['details']).toEqual({ causes: [{ message }] });
  });

  it('passes a webhook’s warnings on, whether it allows or denies', async () => {
    const { http, configMaps } = context();
    server.reply = ({ operation }) => ({ allowed: operation === 'CREATE', warnings: ['careful "now"'] });
    const answers = [await http.post(configMaps(), configMap('warned')), await http.delete(configMaps('warned'))];
    expect(answers.map(({ status, headers }) => [status, headers['warning']])).toEqual([
      [201, '299 - "careful \\"now\\""'],
      [400, '299 - "careful \\"now\\""'],
    ]);
  });

  it('asks about deletions that finalizers hold, and about what lets them go', async () => {
    const { http, configMaps } = context();
    await http.post(configMaps(), configMap('held', { finalizers: ['a.example.com/x'] }));
    server.reply = ({ operation }) => ({ allowed: operation !== 'DELETE' });
    expect((await http.delete(configMaps('held'))).status).toBe(400);
    server.reply = () => ALLOWED;
    expect((await http.get(configMaps('held'))).body['metadata']['deletionTimestamp']).toBeUndefined();
    await http.delete(configMaps('held'));
    server.reviews.length = 0;
    server.reply = () => ({ allowed: false });
    const release = { metadata: { finalizers: null } };
    expect((await http.patch(configMaps('held'), 'merge', release)).status).toBe(400);
    server.reply = () => ALLOWED;
    expect((await http.patch(configMaps('held'), 'merge', release)).status).toBe(200);
    expect(server.reviews.at(-1)?.['request']).toMatchObject({ operation: 'UPDATE', name: 'held' });
    expect((await http.get(configMaps('held'))).status).toBe(404);
  });

  it('says that a write is only tried', async () => {
    const { http, configMaps } = context();
    server.reviews.length = 0;
    await http.post(`${configMaps()}?dryRun=All`, configMap('tried'));
    expect(server.reviews.map(({ request }) => [request['dryRun'], request['options']['dryRun']])).toEqual([
      [true, ['All']],
    ]);
  });

  it('asks by operation, resource, subresource and labels of the object before and after', async () => {
    const { http, configMaps, widgets, widget } = context();
    const statusRule = { apiGroups: ['contract.example.com'], resources: ['widgets/status'], operations: ['UPDATE'] };
    await register(
      'validating',
      webhook({ name: 'updates.example.com' }, { operations: ['UPDATE'] }),
      webhook({ name: 'status.example.com', objectSelector: {} }, statusRule),
    );
    await http.post(configMaps(), configMap('chosen'));
    await http.patch(configMaps('chosen'), 'merge', { metadata: { labels: { asked: null } } });
    await http.patch(configMaps('chosen'), 'merge', { data: { a: '3' } });
    await http.post(widgets(), widget('chosen'));
    await http.patch(widgets('chosen'), 'merge', { spec: { size: 1 } });
    await http.patch(widgets('chosen', 'status'), 'merge', { status: { phase: 'up' } });
    const asked = server.reviews.map(({ request }) => [
      request['operation'],
      request['resource']['resource'],
      request['subResource'],
    ]);
    // A server whose cache was behind asks once more about what it then finds.
    expect(
      [...new Set(asked.map((about) => JSON.stringify(about)))].map((text) => JSON.parse(text) as unknown),
    ).toEqual([
      ['UPDATE', 'configmaps', null],
      ['UPDATE', 'widgets', 'status'],
    ]);
  });

  it('refuses, or goes on, when a webhook cannot be reached, as its failure policy says', async () => {
    const { http, configMaps } = context();
    const nowhere = { url: 'https://127.0.0.1:1/x' };
    await register('validating', webhook({ clientConfig: nowhere }));
    const { status, body } = await http.post(configMaps(), configMap('lost'));
    const why = 'Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused';
    const message = `Internal error occurred: failed calling webhook "${NAME}": ${why}`;
    expect([status, body['message']]).toEqual([500, message]);
    await register('validating', webhook({ clientConfig: nowhere, failurePolicy: 'Ignore' }));
    expect((await http.post(configMaps(), configMap('lost'))).status).toBe(201);
  });

  it('trusts a webhook by its caBundle alone, and waits no longer than it may', async () => {
    const { http, configMaps } = context();
    await register('validating', webhook({ clientConfig: { url: `${server.url}/x` } }));
    const untrusted = await http.post(configMaps(), configMap('unsafe'));
    expect(untrusted.body['message']).toContain(
      `Post "${server.url}/x?timeout=10s": x509: certificate signed by unknown authority`,
    );
    await register('validating', webhook({ timeoutSeconds: 1 }));
    server.reply = () => undefined;
    const late = await http.post(configMaps(), configMap('unsafe'));
    expect(late.body['message']).toBe(
      `Internal error occurred: failed calling webhook "${NAME}": Post "${server.url}/asked?timeout=1s": context deadline exceeded`,
    );
  });

  it('takes patches of mutating webhooks, and asks those again that want to see later changes', async () => {
    const { http, configMaps } = context();
    const at = (path: string): Json => ({ clientConfig: { url: `${server.url}${path}`, caBundle: server.ca } });
    await register(
      'mutating',
      webhook({ ...at('/first'), name: 'first.example.com', reinvocationPolicy: 'IfNeeded' }),
      webhook({ ...at('/second'), name: 'second.example.com' }),
    );
    const paths: string[] = [];
    server.reply = ({ object }, path) => {
      paths.push(path.replace(/\?.*/, ''));
      const count = String(Object.keys(object['data']).length);
      return patchReply({ op: 'add', path: path.startsWith('/first') ? '/data/count' : '/data/second', value: count });
    };
    const { status, body } = await http.post(configMaps(), configMap('mutated'));
    expect([status, body['data'], paths]).toEqual([
      201,
      { a: '1', count: '3', second: '2' },
      ['/first', '/second', '/first'],
    ]);
  });
}
