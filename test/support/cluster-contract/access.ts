import { expect, it } from 'vitest';
import type { ContractContext } from './contract-context.ts';
import type { Json } from './kube-http.ts';

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/** What is answered and never stored: whether one may, and tokens of service accounts. */
export function describeAccess(context: () => ContractContext): void {
  it('says what the caller may do', async () => {
    const { http, namespace } = context();
    const review = (spec: Json): Json => ({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec,
    });
    const spec = { resourceAttributes: { verb: 'get', resource: 'pods', namespace } };
    expect(await http.post(REVIEWS, review(spec))).toMatchObject({
      status: 201,
      body: { spec, status: { allowed: true } },
    });
    const neither = await http.post(REVIEWS, review({}));
    const message =
      'Invalid value: "null": exactly one of nonResourceAttributes or resourceAttributes must be specified';
    expect([neither.status, neither.body['details']['causes']]).toEqual([
      422,
      [{ reason: 'FieldValueInvalid', field: 'spec.resourceAttributes', message }],
    ]);
  });

  it('hands out a token of a service account, as which it is then known', async () => {
    const { http, namespace } = context();
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    await http.post(accounts, { metadata: { name: 'holder' } });
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 600 } };
    const { status, body } = await http.post(`${accounts}/holder/token`, request);
    expect([status, body['kind'], body['spec']['expirationSeconds']]).toEqual([201, 'TokenRequest', 600]);
    expect(body['status']).toEqual({
      token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      expirationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    const authorization = `Bearer ${String(body['status']['token'])}`;
    expect((await http.get(accounts, { authorization })).status).not.toBe(401);
    expect((await http.get(accounts, { authorization: `${authorization}x` })).status).toBe(401);
    expect((await http.post(`${accounts}/absent/token`, request)).status).toBe(404);
    const short = await http.post(`${accounts}/holder/token`, { ...request, spec: { expirationSeconds: 5 } });
    expect([short.status, short.body['details']['causes'][0]['message']]).toEqual([
      422,
      'Invalid value: 5: may not specify a duration less than 10 minutes',
    ]);
  });
}
