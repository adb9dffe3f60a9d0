import { createHash, createHmac, hkdfSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import canonicalize from 'canonicalize';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERROR_STATUS } from '../../src/protocol/app-error.ts';
import { EVENT_KINDS } from '../../src/protocol/event.ts';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { newEncryptionKey, signatureOf } from '../conformance/agent-identity.ts';
import { HttpClient, type Answer } from '../conformance/http-client.ts';
import { httpExamples, Placeholders, type HttpExample } from './http-examples.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const TEXT = readFileSync(join(ROOT, 'docs/spec/agent-protocol.md'), 'utf8');
const EXAMPLES = httpExamples(TEXT);

let plane: RunningControlPlane;
let http: HttpClient;
const values = new Placeholders();

/** What the document's examples suppose to have happened. */
const STEPS: Readonly<Record<string, () => Promise<void>>> = {
  install: async () => await intend(INSTALL),
  uninstall: async () => await intend({ action: 'uninstall', namespace: 'shop', name: 'podinfo' }),
  forget: async () => undefined,
  'use the second credential': async () => {
    const authorization = `Bearer ${values.fill('<second_credential>')}`;
    const answer = await http.send({ method: 'GET', path: '/api/agent/config?wait=0', headers: { authorization } });
    expect(answer.status).toBe(200);
  },
};

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  http = new HttpClient(plane.url);
  await plane.putPodinfo();
  const id = await plane.newCluster('documented', { connectivityMode: 'pull' });
  const { body } = await plane.call('POST', `/clusters/${id}/registration-token`);
  values.known.set('registration_token', String(body['registrationToken']));
  values.known.set('public_key_x', newEncryptionKey().publicKey['x'] ?? '');
  values.known.set('now', new Date().toISOString());
});

afterAll(async () => {
  http[Symbol.dispose]();
  await plane[Symbol.asyncDispose]();
});

async function intend(body: object): Promise<void> {
  const answer = await plane.call('POST', `/clusters/${values.fill('<cluster_id>')}/intents`, body);
  expect(answer).toMatchObject({ status: 202 });
}

/** Sends the request of an example as it stands there. */
async function send({ request }: HttpExample): Promise<Answer> {
  const [method = '', target = ''] = request.start.split(' ');
  const path = values.fill(target);
  const body = values.fill(request.body);
  const headers: Record<string, string> = {};
  for (const [name, value] of request.headers) {
    headers[name] = value === '<signature>' ? sign(request.headers, method, path, body) : values.fill(value);
  }
  return await http.send({ method, path, headers, ...(body === '' ? {} : { body }) });
}

function sign(headers: ReadonlyMap<string, string>, method: string, target: string, body: string): string {
  return signatureOf({
    token: values.fill(headers.get('authorization') ?? '').replace(/^Bearer /, ''),
    clusterId: values.fill('<cluster_id>'),
    method,
    target,
    body: body === '' ? undefined : JSON.parse(body),
    atSeconds: Math.floor(Date.now() / 1000),
  });
}

describe('docs/spec/agent-protocol.md', () => {
  // In order: an example builds on those before it.
  it.each(EXAMPLES.map((example, index) => ({ title: `${index + 1}. ${example.request.start}`, example })))(
    'shows what is answered to $title',
    async ({ example }) => {
      for (const step of example.before) await STEPS[step]?.();
      const answer = await send(example);
      const [, status = ''] = example.answer.start.split(' ');
      expect({ status: answer.status, text: answer.text }).toMatchObject({ status: Number(status) });
      for (const [name, value] of example.answer.headers) {
        expect(values.differences(value, answer.headers[name], name)).toEqual([]);
      }
      const documented: unknown = example.answer.body === '' ? undefined : JSON.parse(example.answer.body);
      expect(values.differences(documented, answer.json)).toEqual([]);
    },
  );

  it('names no step before an example that the test does not know', () => {
    expect(EXAMPLES.flatMap(({ before }) => before).filter((step) => STEPS[step] === undefined)).toEqual([]);
  });

  it('names every request, every error code with its status, and every kind of event', () => {
    const requests = ['register', 'config', 'jobs', 'ack', 'status', 'result', 'events', 'rotate', 'recover'];
    const exampled = new Set(EXAMPLES.map(({ request }) => request.start.split(/[ ?]/)[1]?.split('/').at(-1)));
    expect(requests.filter((name) => !exampled.has(name))).toEqual([]);
    const rows = [...TEXT.matchAll(/^\| `([a-z_]+)`\s+\| (\d{3})\s+\|/gm)].map(
      ([, code, status]) => `${code} ${status}`,
    );
    const ofTheAdminApiAlone = new Set(['conflict', 'precondition_failed']);
    const codes = Object.entries(ERROR_STATUS).filter(([code]) => !ofTheAdminApiAlone.has(code));
    expect(rows.toSorted()).toEqual(codes.map(([code, status]) => `${code} ${status}`).toSorted());
    const named = (kind: string): boolean => TEXT.includes(`\`${kind}\``) || TEXT.includes(`\`…${kind.slice(9)}\``);
    expect(Object.keys(EVENT_KINDS).filter((kind) => !named(kind))).toEqual([]);
  });

  it('has a recipe for the MAC that is right, and a worked example of every step', async () => {
    const worked = workedExample();
    const { credential = '', clusterId = '', method = '', path = '', seconds = '' } = worked;
    const body: unknown = JSON.parse(worked['body'] ?? '');
    const key = Buffer.from(hkdfSync('sha256', credential, 'service-agent-hmac', clusterId, 32));
    const canonical = canonicalize(body) ?? '';
    const hash = createHash('sha256').update(canonical).digest('hex');
    const message = ['v1', method, path, seconds, hash].join('\n');
    const mac = createHmac('sha256', key).update(message).digest('base64url');
    expect(worked).toMatchObject({ key: `(hex) ${key.toString('hex')}`, canonical, hash, mac });
    const recipe = await runRecipe({ credential, clusterId, method, path, body, seconds });
    expect(recipe).toBe(`v1,t=${seconds},mac=${mac}`);
    const atSeconds = Number(seconds);
    expect(signatureOf({ token: credential, clusterId, method, target: path, body, atSeconds })).toBe(recipe);
  });
});

/** The block of the document with a name and a value on each line. */
function workedExample(): Record<string, string> {
  const [, block = ''] = /^```text\n(credential[\s\S]*?)^```$/m.exec(TEXT) ?? [];
  const lines = block.trim().split('\n');
  return Object.fromEntries(lines.map((line) => [line.slice(0, 12).trim(), line.slice(12).trim()]));
}

/** Runs the document's own code, from a folder that finds the project's packages. */
async function runRecipe(input: Readonly<Record<string, unknown>>): Promise<string> {
  const [, code = ''] = /^```js\n([\s\S]*?)^```$/m.exec(TEXT) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'recipe-'));
  try {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'sign.mjs'), code);
    const recipe = (await import(join(folder, 'sign.mjs'))) as { sign: (input: object) => string };
    return recipe.sign(input);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
