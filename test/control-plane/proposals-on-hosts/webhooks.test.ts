import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { WebhookShape } from '../../support/git-hosts/fake-host.ts';
import { gitlabShape, signedByGitlab } from '../../support/git-hosts/gitlab-shape.ts';
import { githubShape } from '../../support/git-hosts/github-shape.ts';
import { HOSTS } from '../../delivery/proposal-hosts/host-api.ts';
import { HostedStage } from './hosted-stage.ts';

async function post(
  url: string,
  { headers, body }: WebhookShape,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

describe.each(HOSTS)('webhooks of $shape.kind', ({ shape }) => {
  let stage: HostedStage;
  let number: number;
  let intentId: string;
  let names = 0;

  beforeAll(async () => {
    stage = await HostedStage.start(shape);
  }, 90_000);
  afterAll(async () => await stage[Symbol.asyncDispose]());
  beforeEach(async () => {
    names += 1;
    const proposal = await stage.propose({ name: `hook-${names}` });
    number = Number(proposal['hostNumber']);
    intentId = String(proposal['intentId']);
    await stage.quiet();
  });

  const made = async (secret = stage.webhookSecret): Promise<WebhookShape> =>
    await shape.webhook(stage.fake, stage.fake.request(number), 'merged', secret);

  test.each<[string, number, (sent: WebhookShape) => WebhookShape]>([
    ['without any signature', 401, ({ body }) => ({ body, headers: {} })],
    [
      'altered on its way',
      // GitLab's secret token says nothing about the body.
      shape.kind === 'gitlab' ? 200 : 401,
      ({ body, headers }) => ({ headers, body: body.replace('"main"', '"Main"') }),
    ],
    [
      'about another repository',
      403,
      ({ body, headers }) => signed(body.replaceAll('acme/fleet', 'acme/other'), headers),
    ],
    ['that is not JSON', 400, ({ headers }) => signed('{', headers)],
    ['of a mebibyte and more', 413, ({ headers }) => signed(`"${'x'.repeat(1024 * 1024)}"`, headers)],
    ['without a body', 401, ({ headers }) => ({ headers, body: '' })],
  ])('one %s changes nothing: %i', async (_what, status, change) => {
    const before = stage.fake.calls.length;
    if (shape.kind === 'gitlab' && status === 401 && _what === 'without a body') status = 400;
    const answer = await post(stage.webhookUrl, change(await made()));
    expect(answer.status).toBe(status);
    if (status !== 200) {
      await stage.quiet();
      expect(stage.fake.calls.slice(before)).toEqual([]);
    }
  });

  function signed(body: string, headers: WebhookShape['headers']): WebhookShape {
    const mac = createHmac('sha256', stage.webhookSecret).update(body).digest('hex');
    return {
      body,
      headers: {
        ...headers,
        ...(shape.kind === 'github' ? { 'x-hub-signature-256': `sha256=${mac}` } : {}),
        ...(shape.kind === 'gitea' ? { 'x-gitea-signature': mac } : {}),
      },
    };
  }

  test('one signed with another secret is refused, and so is one for a repository that is not there', async () => {
    const foreign = await made('whsec_another');
    expect(await post(stage.webhookUrl, foreign)).toMatchObject({ status: 401, body: { error: 'invalid_signature' } });
    const elsewhere = stage.webhookUrl.replace(/[^/]+$/, 'repo-nowhere');
    expect(await post(elsewhere, await made())).toMatchObject({ status: 401, body: { error: 'invalid_signature' } });
  });

  test('the same one again is taken and does nothing', async () => {
    const sent = await made();
    const from = stage.fake.calls.length;
    expect(await post(stage.webhookUrl, sent)).toEqual({ status: 200, body: { looked: true } });
    await vi.waitFor(() => expect(stage.fake.calls.length).toBeGreaterThan(from), { timeout: 10_000 });
    await stage.quiet();
    const before = stage.fake.calls.length;
    expect(await post(stage.webhookUrl, sent)).toEqual({ status: 200, body: { looked: false } });
    await stage.quiet();
    expect(stage.fake.calls.slice(before)).toEqual([]);
  });

  test('is a hint: a merge that it tells of and the host does not is no merge', async () => {
    // The fake has it open; only the delivery says otherwise.
    const sent = await made();
    const lie = signed(
      sent.body.replace('"state":"open"', '"state":"closed"').replace('"merged":false', '"merged":true'),
      sent.headers,
    );
    expect((await post(stage.webhookUrl, lie)).status).toBe(200);
    await vi.waitFor(() => expect(stage.fake.calls.some(({ path }) => path.endsWith(`/${number}`))).toBe(true), 30_000);
    await stage.quiet();
    expect((await stage.proposalOf(intentId))['state']).toBe('open');
  });

  test('an event that is about no request is taken and does nothing', async () => {
    const body =
      shape.kind === 'gitlab'
        ? '{"object_kind":"push","project":{"path_with_namespace":"acme/fleet"}}'
        : '{"ref":"refs/heads/main","repository":{"full_name":"acme/fleet"}}';
    expect(await post(stage.webhookUrl, signed(body, (await made()).headers))).toEqual({
      status: 200,
      body: { looked: false },
    });
  });

  test('a secret that was rotated counts no more, and the new one does', async () => {
    const rotated = await stage.plane.call('PUT', '/repositories/hosted/credentials', { webhookSecret: 'new' });
    const next = String(rotated.body['webhookSecret']);
    expect(next).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect((await post(stage.webhookUrl, await made())).status).toBe(401);
    expect((await post(stage.webhookUrl, await made(next))).status).toBe(200);
    Object.assign(stage, { webhookSecret: next });
  });
});

test('a delivery of GitLab with a signing token is verified over id, time and body, and is not old', async () => {
  await using stage = await HostedStage.start(gitlabShape);
  const { hostNumber } = await stage.propose();
  const { body } = await gitlabShape.webhook(stage.fake, stage.fake.request(hostNumber), 'merged', '');
  const at = stage.clock.now();
  const headers = signedByGitlab(body, stage.webhookSecret, at);
  expect((await post(stage.webhookUrl, { body: `${body} `, headers })).status).toBe(401);
  expect((await post(stage.webhookUrl, { body, headers: { ...headers, 'webhook-id': 'other' } })).status).toBe(401);
  const old = signedByGitlab(body, stage.webhookSecret, new Date(at.getTime() - 301_000));
  expect((await post(stage.webhookUrl, { body, headers: old })).status).toBe(401);
  // The token in the clear does not stand in for a signature that is there and wrong.
  const both = { ...old, 'x-gitlab-token': stage.webhookSecret };
  expect((await post(stage.webhookUrl, { body, headers: both })).status).toBe(401);
  expect(await post(stage.webhookUrl, { body, headers })).toEqual({ status: 200, body: { looked: true } });
}, 90_000);

test('a webhook of GitHub whose content type nobody changed comes as a form, and is read', async () => {
  await using stage = await HostedStage.start(githubShape);
  const { hostNumber } = await stage.propose();
  const { body, headers } = await githubShape.webhook(stage.fake, stage.fake.request(hostNumber), 'merged', '');
  const form = new URLSearchParams({ payload: body }).toString();
  const mac = createHmac('sha256', stage.webhookSecret).update(form).digest('hex');
  const sent = {
    ...headers,
    'content-type': 'application/x-www-form-urlencoded',
    'x-hub-signature-256': `sha256=${mac}`,
  };
  expect(await post(stage.webhookUrl, { body: form, headers: sent })).toEqual({ status: 200, body: { looked: true } });
}, 90_000);
