import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { INSTALL, PODINFO, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { describeBrowser, openTab, startBrowser, type Tab } from '../support/browser.ts';
import { seeTip } from './see-tip.ts';
import { signIn } from './sign-in.ts';

const PATIENCE = { timeout: 15_000, interval: 50 };

describeBrowser('the page', () => {
  let browser: Browser;
  let plane: RunningControlPlane;
  let clusterId: string;
  let reviewer: string;
  let objects = 0;

  beforeAll(async () => {
    browser = await startBrowser();
    plane = await RunningControlPlane.start();
    await plane.call('PUT', '/catalog/podinfo', PODINFO);
    clusterId = await plane.newCluster('prod-eu', { git: { review: 'proposal', requiredApprovals: { count: 1 } } });
    reviewer = await newToken('rita');
  });

  afterAll(async () => {
    await browser.close();
    await plane[Symbol.asyncDispose]();
  });

  let tab: Tab;
  beforeEach(async () => {
    tab = await openTab(browser);
    return async () => {
      const { faults } = tab;
      await tab[Symbol.asyncDispose]();
      expect(faults).toEqual([]);
    };
  });

  async function newToken(name: string): Promise<string> {
    const { body } = await plane.call('POST', '/admin-tokens', { name, roles: ['platform'] });
    return body['token'] as string;
  }

  /** An intent that waits for its review. */
  async function propose(changes: Record<string, unknown> = {}): Promise<{ intentId: string; proposalId: string }> {
    objects += 1;
    const { body } = await plane.call('POST', `/clusters/${clusterId}/intents`, {
      ...INSTALL,
      name: `podinfo-${objects}`,
      ...changes,
    });
    const intentId = body['id'] as string;
    const proposalId = await vi.waitFor(async () => {
      const intent = await plane.call('GET', `/intents/${intentId}`);
      expect(intent.body).toMatchObject({ state: 'proposed', proposal: { id: expect.any(String) } });
      return intent.body['proposal'].id as string;
    }, PATIENCE);
    return { intentId, proposalId };
  }

  it('asks for a token, and says why one is of no use', async () => {
    await tab.page.goto(plane.url);
    await tab.page.getByLabel('Admin token').fill('svcadm_not-a-token');
    await tab.page.getByRole('button', { name: 'Sign in' }).click();
    await tab.page.getByRole('alert').filter({ hasText: 'not an admin token' }).waitFor();
    expect(await tab.page.getByRole('button', { name: 'Sign out' }).isVisible()).toBe(false);
  });

  it('leads a reviewer from the list to the diff, and merges with the approval that was missing', async () => {
    const { intentId, proposalId } = await propose({ reason: 'the shop needs it' });
    await signIn(tab.page, plane.url, reviewer, '#/proposals');
    await tab.page.getByRole('link', { name: new RegExp(`shop/podinfo-${objects}`) }).click();
    await tab.page.getByRole('heading', { name: 'What it changes' }).waitFor();
    const patch = await tab.page.locator('details.file', { hasText: 'apps/shop' }).textContent();
    expect(patch).toContain('+added: kind: ApplicationInstance');
    await tab.page.getByLabel('Comment').fill('looks right');
    await tab.page.getByRole('button', { name: 'Approve' }).click();
    await tab.page.getByText('rita approved').waitFor();
    // It shows by itself what becomes of it.
    await tab.page.locator('.badge.merged').waitFor();
    expect((await plane.call('GET', `/proposals/${proposalId}`)).body).toMatchObject({ state: 'merged' });
    // From the commit back to the intent.
    await tab.page.locator('dt:text("Merged as") + dd a').click();
    await tab.page.getByText('Approved by').waitFor();
    await expect(tab.page.locator('main').textContent()).resolves.toContain('the shop needs it');
    await tab.page.getByRole('link', { name: intentId }).click();
    await tab.page.getByRole('heading', { name: `install shop/podinfo-${objects}` }).waitFor();
    await tab.page.locator('.journey a[href*="/commits/"]').first().click();
    await tab.page.getByRole('heading', { name: 'What it changed' }).waitFor();
  });

  it('shows an author why the approval is not taken', async () => {
    const { proposalId } = await propose();
    await signIn(tab.page, plane.url, plane.token, `#/proposals/${proposalId}`);
    const approve = tab.page.getByRole('button', { name: 'Approve' });
    await seeTip(approve, 'You asked for this: somebody else has to approve it.');
    expect(await approve.getAttribute('aria-disabled')).toBe('true');
    expect((await plane.call('GET', `/proposals/${proposalId}`)).body).toMatchObject({ state: 'open' });
  });

  it('takes a comment and a rejection, with what was said', async () => {
    const { intentId, proposalId } = await propose();
    await signIn(tab.page, plane.url, reviewer, `#/proposals/${proposalId}`);
    await tab.page.getByLabel('Comment').fill('why now? <b>really</b>');
    await tab.page.getByRole('button', { name: 'Comment' }).click();
    await tab.page.locator('.said', { hasText: 'why now? <b>really</b>' }).waitFor();
    await tab.page.getByLabel('Comment').fill('not this week');
    await tab.page.getByRole('button', { name: 'Reject' }).click();
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByText('not this week').waitFor();
    await dialog.getByRole('button', { name: 'Reject' }).click();
    await tab.page.locator('.badge.rejected').waitFor();
    expect((await plane.call('GET', `/intents/${intentId}`)).body).toMatchObject({ state: 'failed' });
  });

  it('does not approve unseen what was rendered again meanwhile', async () => {
    const { proposalId } = await propose();
    await signIn(tab.page, plane.url, reviewer, `#/proposals/${proposalId}`);
    await tab.page.getByRole('button', { name: 'Approve' }).waitFor();
    // Whoever looks at an older revision than the present one has this answer.
    await tab.page.route('**/approve', async (route) => {
      await route.continue({ postData: JSON.stringify({ revision: 99 }) });
    });
    await tab.page.getByRole('button', { name: 'Approve' }).click();
    await tab.page.locator('form .fault', { hasText: 'revision' }).waitFor();
    expect((await plane.call('GET', `/proposals/${proposalId}`)).body).toMatchObject({ state: 'open' });
  });

  it('shows the history of a cluster, and is usable on a phone by the keyboard alone', async () => {
    await using narrow = await openTab(browser, 360);
    await signIn(narrow.page, plane.url, reviewer, '#/history/fleet');
    await narrow.page.getByLabel('Only of cluster (slug)').fill('prod-eu');
    await narrow.page.keyboard.press('Enter');
    await narrow.page.getByRole('heading', { name: 'History of prod-eu in fleet' }).waitFor();
    const overflow = await narrow.page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
    expect(overflow).toBe(0);
  });

  it('is served under a policy that lets nothing else in, and only when it changed', async () => {
    const answer = await fetch(plane.url);
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    const tag = answer.headers.get('etag') ?? '';
    expect((await fetch(plane.url, { headers: { 'if-none-match': tag } })).status).toBe(304);
    expect((await fetch(`${plane.url}/assets/../control-plane/main.ts`)).status).toBe(404);
  });
});
