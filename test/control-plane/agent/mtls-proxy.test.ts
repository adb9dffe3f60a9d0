import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newClientKey, newOtherAuthority } from '../../support/client-key.ts';
import { issuePrivateChain, type PrivateChain } from '../../support/private-authority.ts';
import { startTlsProxy, type TlsProxy } from '../../support/tls-proxy.ts';
import { registerAgent, type RunningAgent } from '../admin/running-agent.ts';
import { RunningControlPlane } from '../running-control-plane.ts';
import type { Answer } from './agent-server.ts';
import { send, type ClientPair } from './mtls-stage.ts';

const DOCUMENT = readFileSync(new URL('../../../docs/mtls.md', import.meta.url), 'utf8');
/** As the example for nginx names it. */
const HEADER = /proxy_set_header ([\w-]+) +\$ssl_client_escaped_cert;/.exec(DOCUMENT)?.[1] ?? '';

const toPem = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;

const outcome = ({ status, body }: Answer): string =>
  status === 204 ? '204' : `${status} ${(body as { error: string }).error}`;

describe('the example of docs/mtls.md, by a proxy that does what its nginx configuration says', () => {
  let plane: RunningControlPlane;
  let chain: PrivateChain;
  let agent: RunningAgent;
  let pair: ClientPair;

  /** The proxy's settings for one form of the header. */
  async function proxyWith(encode: (der: Buffer) => string | undefined): Promise<TlsProxy> {
    const { body } = await plane.call('GET', '/client-authority');
    const clientAuthority = String(body['certificates']);
    const { leaf: cert, key } = chain;
    return await startTlsProxy({ cert, key, clientAuthority, upstream: plane.url, header: HEADER, encode });
  }

  async function post(
    proxy: Pick<TlsProxy, 'port'>,
    client?: ClientPair,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const { token } = agent.registration;
    return await send(
      // The proxy sends its own certificate alone; a client has the root and the intermediate.
      { port: proxy.port, path: '/api/agent/events', method: 'POST', ca: chain.root + chain.intermediate, ...client },
      { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      '{"events":[]}',
    );
  }

  beforeAll(async () => {
    chain = await issuePrivateChain('proxy');
    plane = await RunningControlPlane.start(undefined, {
      SERVICE_CLIENT_CERT_HEADER: HEADER,
      SERVICE_TRUSTED_PROXIES: '127.0.0.1',
    });
    const { key, csr } = await newClientKey();
    agent = await registerAgent(plane, await plane.newCluster('prod-eu'), { csr });
    pair = { cert: agent.registration.client_certificate ?? '', key };
  });

  afterAll(async () => {
    await plane[Symbol.asyncDispose]();
  });

  it('names a header, and the variables that it goes with', () => {
    expect(HEADER).not.toBe('');
    expect(DOCUMENT).toContain(`SERVICE_CLIENT_CERT_HEADER=${HEADER}\n`);
    expect(DOCUMENT).toContain('SERVICE_TRUSTED_PROXIES=127.0.0.1\n');
  });

  it.each<[string, (der: Buffer) => string]>([
    ['nginx', (der) => encodeURIComponent(toPem(der))],
    ['Apache', (der) => toPem(der).trim().replaceAll('\n', ' ')],
    ['Traefik and HAProxy', (der) => der.toString('base64')],
    ['Envoy', (der) => `Hash=00;Cert="${encodeURIComponent(toPem(der))}"`],
  ])('lets an unsigned write through by the certificate, in the form of %s', async (_, encode) => {
    await using proxy = await proxyWith(encode);
    expect(outcome(await post(proxy, pair))).toBe('204');
    expect(outcome(await post(proxy))).toBe('401 invalid_signature');
  });

  it('lets an admin require it once it was seen, not before', async () => {
    const other = await registerAgent(plane, await plane.newCluster('prod-us'));
    await other.get('/api/agent/config');
    const change = { requireClientCertificate: true };
    const early = await plane.call('PATCH', '/clusters/prod-us', change);
    expect([early.status, early.body['faults']]).toEqual([
      409,
      [{ path: '/requireClientCertificate', message: 'no client certificate was seen yet' }],
    ]);
    await using proxy = await proxyWith((der) => encodeURIComponent(toPem(der)));
    expect(outcome(await post(proxy, pair))).toBe('204');
    const { status, body } = await plane.call('PATCH', '/clusters/prod-eu', change);
    expect([status, body['requireClientCertificate'], body['credential'].certified]).toEqual([200, true, true]);
    expect((await agent.post('/api/agent/events', { events: [] })).status).toBe(403);
    expect(outcome(await post(proxy, pair))).toBe('204');
    await plane.call('PATCH', '/clusters/prod-eu', { requireClientCertificate: false });
    expect((await agent.post('/api/agent/events', { events: [] })).status).toBe(204);
  });

  it('gives no effect to what a client itself writes into the header', async () => {
    await using proxy = await proxyWith((der) => encodeURIComponent(toPem(der)));
    const forged = { [HEADER]: encodeURIComponent(pair.cert) };
    expect(outcome(await post(proxy, undefined, forged))).toBe('401 invalid_signature');
  });

  it('verifies once more what the proxy hands on', async () => {
    const other = await newOtherAuthority(new Date());
    const certified = await other.certify(agent.id);
    await using proxy = await proxyWith(() => encodeURIComponent(certified.certificate));
    expect(outcome(await post(proxy, pair))).toBe('401 invalid_signature');
  });

  it('leaves it to the proxy to refuse what does not verify: its HTML is no answer of the protocol', async () => {
    const other = await newOtherAuthority(new Date());
    const { certificate: cert, key } = await other.certify(agent.id);
    await using proxy = await proxyWith((der) => encodeURIComponent(toPem(der)));
    expect(await post(proxy, { cert, key })).toMatchObject({ status: 400, headers: { 'content-type': 'text/html' } });
  });

  it('takes the header from nobody but the proxies that are configured', async () => {
    await using elsewhere = await RunningControlPlane.start(undefined, {
      SERVICE_CLIENT_CERT_HEADER: HEADER,
      SERVICE_TRUSTED_PROXIES: '10.0.0.0/8,2001:db8::/32',
    });
    const { csr } = await newClientKey();
    const other = await registerAgent(elsewhere, await elsewhere.newCluster('prod-eu'), { csr });
    const { token, client_certificate: cert = '' } = other.registration;
    const headers = { [HEADER]: encodeURIComponent(cert) };
    const answer = await elsewhere.call('POST', '/api/agent/events', { events: [] }, { token, headers });
    expect([answer.status, answer.body['error']]).toEqual([401, 'invalid_signature']);
  });
});
