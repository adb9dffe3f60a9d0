import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readInstallFiles } from '../../src/install/install-files.ts';
import { renderCrds, renderOperator } from '../../src/install/render-install.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { RunningControlPlane, type Answer } from './running-control-plane.ts';

describe('the links of an installation', () => {
  const clock = new ManualClock();
  let plane: RunningControlPlane;
  let clusterId: string;

  beforeAll(async () => {
    plane = await RunningControlPlane.start(clock, { SERVICE_OPERATOR_IMAGE: 'registry.example.com/operator:7' });
    clusterId = await plane.newCluster('prod-eu');
  });

  afterAll(async () => await plane[Symbol.asyncDispose]());

  const issue = async (body?: unknown): Promise<Answer> =>
    await plane.call('POST', '/clusters/prod-eu/install-link', body);
  const open = async (
    url: string,
  ): Promise<{ status: number; type: string | null; cache: string | null; text: string }> => {
    const answer = await fetch(url);
    const { status, headers } = answer;
    return {
      status,
      type: headers.get('content-type'),
      cache: headers.get('cache-control'),
      text: await answer.text(),
    };
  };
  const refusal = async (url: string): Promise<{ status: number; error: unknown; message: string }> => {
    const { status, text } = await open(url);
    const { error, message, requestId } = JSON.parse(text) as Record<string, string>;
    expect(requestId).toMatch(/^req/);
    return { status, error, message: String(message) };
  };

  it('open the two files that servicectl prints, for this cluster, address and image', async () => {
    const { status, body } = await issue();
    expect({ status, keys: Object.keys(body) }).toEqual({
      status: 201,
      keys: ['slug', 'crdsUrl', 'operatorUrl', 'expiresAt', 'commands'],
    });
    const files = readInstallFiles();
    const [crds, operator] = await Promise.all([open(body['crdsUrl']), open(body['operatorUrl'])]);
    expect(crds).toEqual({
      status: 200,
      type: 'application/yaml; charset=utf-8',
      cache: 'no-store',
      text: renderCrds(files).text,
    });
    const expected = renderOperator(files, {
      cluster: { slug: 'prod-eu', baseUrl: plane.url },
      image: 'registry.example.com/operator:7',
    });
    expect(operator).toEqual({ ...crds, text: expected.text });
  });

  it('come with the commands, in which the token is read from standard input', async () => {
    const { body } = await issue();
    expect(body['commands']).toEqual([
      `kubectl apply -f '${body['crdsUrl']}'`,
      expect.stringContaining('create secret generic service-operator-registration --from-file=token=/dev/stdin '),
      `kubectl apply -f '${body['operatorUrl']}'`,
      expect.stringContaining('wait --for=condition=Authenticated clusters.ops.service.io/prod-eu '),
    ]);
  });

  it('work for fifteen minutes, or as long as was asked for, and also after a restart', async () => {
    const [short, long] = await Promise.all([issue(), issue({ lifetimeSeconds: 3600 })]);
    const lifetime = ({ body }: Answer): number => Date.parse(body['expiresAt']) - clock.now().getTime();
    expect([lifetime(short), lifetime(long)]).toEqual([900_000, 3_600_000]);
    const port = new URL(plane.url).port;
    await plane.restart();
    const moved = (url: string): string => url.replace(`:${port}/`, `:${new URL(plane.url).port}/`);
    clock.advance(899_000);
    expect((await open(moved(short.body['operatorUrl']))).status).toBe(200);
    clock.advance(1000);
    expect(await refusal(moved(short.body['operatorUrl']))).toEqual({
      status: 401,
      error: 'expired_token',
      message: `this link worked until ${short.body['expiresAt']}; make a new one: servicectl clusters install-command <cluster>`,
    });
    expect((await open(moved(long.body['operatorUrl']))).status).toBe(200);
  });

  it.each<[string, (url: URL) => void]>([
    ['another signature', (url) => url.searchParams.set('signature', 'A'.repeat(43))],
    ['a later end', (url) => url.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 1))],
    ['another cluster', (url) => url.searchParams.set('cluster', 'c-0000000000000000')],
    ['the other file', (url) => (url.pathname = '/install/crds.yaml')],
  ])('are refused with %s', async (_, alter) => {
    const url = new URL((await issue()).body['operatorUrl']);
    alter(url);
    expect(await refusal(url.href)).toEqual({
      status: 401,
      error: 'invalid_signature',
      message: expect.stringMatching(/^this link was altered, .*servicectl clusters install-command/) as string,
    });
  });

  it.each<[string, (url: URL) => void, string]>([
    ['without a signature', (url) => url.searchParams.delete('signature'), '/signature'],
    ['with half a signature', (url) => url.searchParams.set('signature', 'AAAA'), '/signature'],
    ['without an end', (url) => url.searchParams.delete('expires'), '/expires'],
    ['with an end that is no number', (url) => url.searchParams.set('expires', 'never'), '/expires'],
    ['with something more', (url) => url.searchParams.set('token', 'svcreg_x'), '/token'],
  ])('are refused %s', async (_, alter, path) => {
    const url = new URL((await issue()).body['operatorUrl']);
    alter(url);
    const { status, error, message } = await refusal(url.href);
    expect({ status, error }).toEqual({ status: 400, error: 'constraint_violated' });
    expect(message).toContain(path);
  });

  it('never hold a registration token, whatever was issued', async () => {
    const issued = await plane.call('POST', '/clusters/prod-eu/registration-token');
    const token = String(issued.body['registrationToken']);
    expect(token).toMatch(/^svcreg_/);
    const link = await issue();
    const texts = await Promise.all([open(link.body['crdsUrl']), open(link.body['operatorUrl'])]);
    const everything = JSON.stringify(link.body) + texts.map(({ text }) => text).join('');
    for (const secret of [
      token,
      Buffer.from(token).toString('base64'),
      createHash('sha256').update(token).digest('hex'),
    ]) {
      expect(everything).not.toContain(secret);
    }
    expect(everything).not.toMatch(/svc(reg|agt|adm|git)_/);
    const kinds = texts.flatMap(({ text }) =>
      parseAllDocuments(text).map((document) => (document.toJS() as KubeObject).kind),
    );
    expect(kinds).not.toContain('Secret');
  });

  it('are audited, and are only for the organization whose cluster it is', async () => {
    const other = plane.addOrganization('other');
    const refused = await plane.call('POST', `/clusters/${clusterId}/install-link`, undefined, { token: other });
    expect({ status: refused.status, error: refused.body['error'] }).toEqual({ status: 404, error: 'not_found' });
    const before = plane.query("SELECT * FROM audit WHERE kind = 'InstallLinkIssued'").length;
    const { body } = await issue();
    const rows = plane.query("SELECT cluster_id, source, summary FROM audit WHERE kind = 'InstallLinkIssued'");
    expect(rows).toHaveLength(before + 1);
    expect(rows.at(-1)).toEqual({
      cluster_id: clusterId,
      source: 'user',
      summary: `links to the operator's manifest issued for cluster prod-eu, until ${body['expiresAt']}`,
    });
    expect((await plane.call('POST', '/clusters/prod-eu/install-link', undefined, { token: null })).status).toBe(401);
  });

  it.each([59, 86_401, '900'])('are not made for a lifetime of %j', async (lifetimeSeconds) => {
    const { status, body } = await issue({ lifetimeSeconds });
    expect({ status, error: body['error'] }).toEqual({ status: 400, error: 'constraint_violated' });
    expect(body['message']).toContain('/lifetimeSeconds');
  });
});
