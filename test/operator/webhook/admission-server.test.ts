import { createServer } from 'node:http';
import { request } from 'node:https';
import { connect } from 'node:net';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSharedPort, type SharedPort } from '../../../src/operator/shared-port.ts';
import { AdmissionServer, MAX_REVIEW_BYTES } from '../../../src/operator/webhook/admission-server.ts';
import type { AdmissionRequest, ReviewAnswer } from '../../../src/operator/webhook/admission-review.ts';
import {
  issueAuthority,
  issueServing,
  webhookNames,
  type CertifiedKey,
} from '../../../src/operator/webhook/webhook-certificate.ts';

const review = {
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'r-1',
    operation: 'CREATE',
    resource: { group: 'apps.service.io', version: 'v1alpha1', resource: 'applicationinstances' },
    userInfo: { username: 'alice' },
    object: { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', metadata: { name: 'a' } },
  },
};

let port: SharedPort;
let server: AdmissionServer;
let logged: unknown[];
let authority: CertifiedKey;
let judge: (request: AdmissionRequest) => Promise<ReviewAnswer>;

beforeEach(async () => {
  judge = async () => ({ allowed: true, warnings: [] });
  logged = [];
  const logger = pino({ level: 'warn' }, { write: (line) => void logged.push(JSON.parse(line)) });
  server = new AdmissionServer({ judge: async (asked) => await judge(asked), logger });
  const plain = createServer((_, response) => void response.end('plain\n'));
  port = await openSharedPort({
    listen: { host: '127.0.0.1', port: 0 },
    plain,
    secure: () => (server.hasCertificate ? server.server : undefined),
  });
  authority = await issueAuthority(new Date());
});
afterEach(async () => await port[Symbol.asyncDispose]());

async function serveNew(signer = authority): Promise<void> {
  server.serve(await issueServing(signer, webhookNames('service-system'), new Date()));
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

async function post(
  body: string,
  options: { readonly path?: string; readonly type?: string; readonly ca?: string; readonly servername?: string } = {},
): Promise<Answer> {
  const { path = '/admission/applicationinstances', type = 'application/json', ca = authority.certificate } = options;
  const { servername = 'service-operator.service-system.svc' } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const asked = request(
    new URL(path, port.url.replace('http:', 'https:')),
    { method: 'POST', ca, servername, agent: false, headers: { 'content-type': type } },
    (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
    },
  );
  asked.on('error', reject);
  asked.end(body);
  return await promise;
}

describe('the port of the operator', () => {
  it('answers plain HTTP and TLS, and TLS only once there is a certificate', async () => {
    await expect(post(JSON.stringify(review))).rejects.toThrow(/socket|ECONNRESET/);
    await serveNew();
    const { status, body } = await post(JSON.stringify(review));
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: 'r-1', allowed: true },
    });
    const plain = await fetch(port.url);
    expect(await plain.text()).toBe('plain\n');
  });

  it('serves a new certificate to new connections without a restart, by every name of the webhook', async () => {
    await serveNew();
    const next = await issueAuthority(new Date());
    await serveNew(next);
    await expect(post(JSON.stringify(review))).rejects.toThrow(/certificate|unable to verify/);
    for (const servername of [...webhookNames('service-system'), undefined]) {
      const named = servername === undefined ? {} : { servername };
      expect((await post(JSON.stringify(review), { ca: next.certificate, ...named })).status).toBe(200);
    }
  });

  it('closes a connection that says nothing when it ends itself', async () => {
    const silent = connect(Number(new URL(port.url).port), '127.0.0.1');
    await new Promise((resolve) => silent.once('connect', resolve));
    const closed = new Promise((resolve) => silent.once('close', () => resolve('closed')));
    await port[Symbol.asyncDispose]();
    expect(await closed).toBe('closed');
  });
});

describe('the admission server', () => {
  it('answers a refusal as the API server shows it, with warnings on one line each', async () => {
    await serveNew();
    judge = async () => ({ allowed: false, message: 'no\nneither', warnings: ['a\nb'], reasons: ['X', 'Y'] });
    const { body } = await post(JSON.stringify(review));
    expect(JSON.parse(body)).toMatchObject({
      response: {
        allowed: false,
        status: {
          status: 'Failure',
          code: 403,
          reason: 'Forbidden',
          message: 'no\nneither',
          details: { causes: [{ reason: 'X' }, { reason: 'Y' }] },
        },
        warnings: ['a b'],
        auditAnnotations: { reasons: 'X,Y' },
      },
    });
    expect(server.counts).toEqual({ allowed: 0, refused: 1, unanswered: 0 });
  });

  it('logs who was refused for want of an approval, and of others nothing', async () => {
    await serveNew();
    judge = async () => ({ allowed: false, message: 'it is forged', warnings: [], reasons: ['ApprovalInvalid'] });
    await post(JSON.stringify(review));
    judge = async () => ({ allowed: false, message: 'no', warnings: [], reasons: ['ChartNotAllowed'] });
    await post(JSON.stringify(review));
    expect(logged).toEqual([
      expect.objectContaining({
        level: 40,
        user: 'alice',
        operation: 'CREATE',
        resource: 'applicationinstances',
        reasons: ['ApprovalInvalid'],
        problem: 'it is forged',
        msg: 'a write lacks its approval',
      }),
    ]);
  });

  const malformed: readonly [string, string, Parameters<typeof post>[1], number, string][] = [
    ['no JSON', '{', {}, 400, 'not JSON'],
    ['another version', JSON.stringify({ ...review, apiVersion: 'admission.k8s.io/v1beta1' }), {}, 400, '/apiVersion'],
    ['no request', JSON.stringify({ ...review, request: undefined }), {}, 400, '/request: is required'],
    ['another media type', JSON.stringify(review), { type: 'text/plain' }, 415, 'application/json'],
    ['another path', JSON.stringify(review), { path: '/admission/pods' }, 404, '/admission/operations'],
  ];
  it.each(malformed)('says what is wrong with %s', async (_, body, options, status, text) => {
    await serveNew();
    const answer = await post(body, options);
    expect(answer.status).toBe(status);
    expect(answer.body).toContain(text);
  });

  it('does not read a review that is too large', async () => {
    await serveNew();
    const outcome = await post(`"${'x'.repeat(MAX_REVIEW_BYTES)}"`).then(
      ({ status }) => status,
      (error: NodeJS.ErrnoException) => error.code,
    );
    expect([413, 'EPIPE', 'ECONNRESET']).toContain(outcome);
  });

  it('answers a fault of its own without saying what it was, and goes on', async () => {
    await serveNew();
    judge = async () => await Promise.reject(new Error('secret detail'));
    const answer = await post(JSON.stringify(review));
    expect(answer).toEqual({ status: 500, body: 'the review could not be judged\n' });
    judge = async () => ({ allowed: true, warnings: [] });
    expect((await post(JSON.stringify(review))).status).toBe(200);
  });

  it('judges a bounded number at once, lets some wait, and turns the rest away', async () => {
    await serveNew();
    const held = Promise.withResolvers<ReviewAnswer>();
    let running = 0;
    judge = async () => {
      running += 1;
      return await held.promise;
    };
    let away = 0;
    const allAway = Promise.withResolvers<void>();
    const answers = Array.from({ length: 80 }, async () => {
      const { status } = await post(JSON.stringify(review));
      if (status === 503) away += 1;
      // Eight run and 64 wait, so eight are turned away at once.
      if (away === 8) allAway.resolve();
      return status;
    });
    await allAway.promise;
    expect(running).toBe(8);
    held.resolve({ allowed: true, warnings: [] });
    const statuses = await Promise.all(answers);
    expect(statuses.filter((status) => status === 503)).toHaveLength(8);
    expect(statuses.filter((status) => status === 200)).toHaveLength(72);
  });
});
