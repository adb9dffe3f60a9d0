import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ReviewedCluster } from '../control-plane/proposals/reviewed-cluster.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { describeBrowser, openTab, startBrowser, type Tab } from '../support/browser.ts';
import { seeTip } from './see-tip.ts';
import { signIn } from './sign-in.ts';

const RENDERED_AGAIN = 'It was rendered again: read it anew.';

describeBrowser('what a reviewer approves in the page', () => {
  let browser: Browser;
  let plane: RunningControlPlane;
  let cluster: ReviewedCluster;
  let tab: Tab;

  beforeAll(async () => {
    browser = await startBrowser();
    plane = await RunningControlPlane.start();
    cluster = await ReviewedCluster.create(plane, 'prod-eu', { requiredApprovals: { count: 2 } });
    await plane.call('PUT', '/operation-templates/scale', { approval: { count: 2 } });
    await plane.newCluster('plain', { connectivityMode: 'pull', allowedOperationTemplates: ['scale'] });
  });

  afterAll(async () => {
    await browser.close();
    await plane[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    tab = await openTab(browser);
    return async () => {
      const { faults } = tab;
      await tab[Symbol.asyncDispose]();
      expect(faults).toEqual([]);
    };
  });

  const button = (name: string) => tab.page.getByRole('button', { name, exact: true });
  const isOff = async (name: string) => (await button(name).getAttribute('aria-disabled')) === 'true';

  it('is the revision whose diff is on the screen, and no other', async () => {
    const { id } = (await cluster.propose({ name: 'moves' })) as { id: string };
    const { page } = tab;
    await signIn(page, plane.url, await cluster.token('anna'), `#/proposals/${id}`);
    await page.getByText('kind: ApplicationInstance').waitFor();
    await expect.poll(async () => await isOff('Approve')).toBe(false);

    // Rendered again as revision 2; its diff is slow to come.
    const held = Promise.withResolvers<undefined>();
    await page.route('**/diff', async (route) => {
      await held.promise;
      await route.continue();
    });
    await plane.execute('UPDATE proposals SET revision = 2 WHERE id = ?', id);
    await cluster.act(id, 'comment', 'bert', { comment: 'look again' });
    await page.getByText('bert-prod-eu commented').waitFor();
    await expect.poll(async () => await isOff('Approve')).toBe(true);
    await seeTip(button('Approve'), RENDERED_AGAIN);

    // Nor does it take the place of what is being read.
    held.resolve(undefined);
    await button('Show revision 2').waitFor();
    expect(await isOff('Approve')).toBe(true);
    await button('Show revision 2').click();
    await expect.poll(async () => await isOff('Approve')).toBe(false);
    const approving = page.waitForRequest('**/approve');
    await button('Approve').press('Enter');
    expect((await approving).postDataJSON()).toEqual({ revision: 2 });
    await page.getByText('anna-prod-eu approved').waitFor();
    // The keyboard goes on from where it was, though there is a reason now against pressing it again.
    expect(await isOff('Approve')).toBe(true);
    expect(await button('Approve').and(page.locator(':focus')).count()).toBe(1);
  });

  it('is nothing while its diff cannot be read', async () => {
    const { id } = (await cluster.propose({ name: 'unread' })) as { id: string };
    const { page } = tab;
    await page.route('**/diff', async (route) => {
      await route.fulfill({ status: 500, json: { error: 'internal', message: 'broken', requestId: 'req-1' } });
    });
    await signIn(page, plane.url, await cluster.token('anna'), `#/proposals/${id}`);
    await page.getByText('This cannot be shown').waitFor();
    expect([await isOff('Approve'), await isOff('Merge'), await isOff('Reject')]).toEqual([true, true, false]);
  });

  it('is the spec that was read, also of an operation that is rendered again under the open dialog', async () => {
    const ask = {
      action: 'operate',
      namespace: 'shop',
      operationTemplate: 'scale',
      targetRef: { kind: 'Deployment', name: 'web' },
    };
    const { body } = await plane.call('POST', '/clusters/plain/intents', {
      ...ask,
      name: 'wide',
      parameters: { replicas: 4 },
    });
    const intent = String(body['id']);
    const approvalOf = async () => (await plane.call('GET', `/intents/${intent}`)).body['approval']?.id as unknown;
    await expect.poll(approvalOf, { timeout: 10_000 }).toBeDefined();
    const approval = String(await approvalOf());
    const { page } = tab;
    await signIn(page, plane.url, await cluster.token('anna'), `#/approvals/${approval}`);
    await page.getByText('replicas: 4').waitFor();
    await button('Approve…').click();
    const { specHash } = (await plane.call('GET', `/approvals/${approval}`)).body;
    const other = `sha256:${'0'.repeat(64)}`;
    await page.route(`**/approvals/${approval}`, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({
        response: answer,
        json: { ...(await answer.json()), specHash: other, manifest: 'replicas: 9' },
      });
    });
    const bert = await cluster.token('bert');
    await plane.call('POST', `/intents/${intent}/approve`, { comment: 'fine' }, { token: bert });
    await page.getByText('bert-prod-eu approved').waitFor();
    const dialog = page.getByRole('dialog');
    expect(await dialog.textContent()).toContain(specHash);
    expect(await page.getByText('replicas: 9').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await isOff('Approve…')).toBe(true);
    await button('Show what is to be approved now').click();
    await page.getByText('replicas: 9').waitFor();
    expect(await isOff('Approve…')).toBe(false);
  });
});
