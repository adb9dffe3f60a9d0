import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { AdminClient } from '../../../src/cli/admin-client.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { describeBrowser, openTab, startBrowser, type Tab } from '../../support/browser.ts';
import { seeTip } from '../see-tip.ts';
import { signIn } from '../sign-in.ts';
import { checkStop } from './check-page.ts';
import { setTaskStage, type TaskStage } from './task-stage.ts';

const REPORTED = { timeout: 30_000 };

describeBrowser('the tasks of an approver', () => {
  let browser: Browser;
  let stage: TaskStage;
  let ada: AdminClient;
  let tab: Tab;
  let page: Page;

  beforeAll(async () => {
    browser = await startBrowser();
    stage = await setTaskStage();
    ada = new AdminClient({ baseUrl: stage.controlPlaneUrl, token: new Secret(stage.tokens.deployer) });
  }, 90_000);

  afterAll(async () => {
    await browser.close();
    await stage[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    tab = await openTab(browser);
    ({ page } = tab);
    return async () => {
      const { faults } = tab;
      await tab[Symbol.asyncDispose]();
      expect(faults).toEqual([]);
    };
  });

  const heading = (name: string | RegExp) => page.getByRole('heading', { name, level: 1 });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const inNav = async (name: string) =>
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();

  interface Intent {
    readonly id: string;
    readonly state: string;
  }

  async function untilState(id: string, state: string): Promise<void> {
    const stateOf = async () => (await ada.call<Intent>('GET', `/intents/${id}`)).state;
    await expect.poll(stateOf, REPORTED).toBe(state);
  }

  it("9: reviews a proposal's diff, and approves it", { timeout: 120_000 }, async () => {
    const { cluster } = await stage.admin.call<{ cluster: { id: string } }>('POST', '/clusters', {
      slug: 'prod-eu',
      displayName: 'Production, Europe',
      connectivityMode: 'gitops',
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: ['podinfo'],
      allowedOperationTemplates: [],
      git: { review: 'proposal', requiredApprovals: { count: 1 } },
    });
    const ask = async (body: object) =>
      await ada.call<Intent>('POST', `/clusters/${cluster.id}/intents`, { namespace: 'shop', name: 'web', ...body });
    const first = await ask({ action: 'install', catalogEntry: 'podinfo', chartVersion: '6.5.0' });
    await untilState(first.id, 'proposed');

    await signIn(page, stage.controlPlaneUrl, stage.tokens.approver);
    await inNav('Proposals');
    await page.getByRole('link', { name: /shop\/web/ }).click();
    await page.getByRole('heading', { name: 'What it changes' }).waitFor();
    await page.getByText('kind: ApplicationInstance').waitFor();
    await page.getByLabel('Comment').fill('looks right');
    await button('Approve').click();
    await page.locator('.title .badge.merged').waitFor(REPORTED);

    // Of a change it shows what is different, beside each other.
    const second = await ask({ action: 'update', chartVersion: '6.6.1', reason: 'the fixes of 6.6' });
    await untilState(second.id, 'proposed');
    await inNav('Proposals');
    await page.getByRole('link', { name: /shop\/web/ }).click();
    const fields = page.getByRole('list', { name: 'Fields that change' });
    await fields.getByText('6.6.1').first().waitFor();
    await checkStop(page, '9-proposal');
    // Her access is that of an approver: what it does not hold is shown, with why.
    const withdraw = button('Withdraw');
    expect(await withdraw.getAttribute('aria-disabled')).toBe('true');
    expect(await withdraw.getAttribute('aria-describedby')).not.toBeNull();
    await button('Approve').click();
    await page.locator('.title .badge.merged').waitFor(REPORTED);
    await page.getByText('grace').first().waitFor();
    await expect.poll(async () => (await ada.call<Intent>('GET', `/intents/${second.id}`)).state).toBe('delivered');
    // From the commit back to the intent.
    await page.locator('dt:text("Merged as") + dd a').click();
    await page.getByText('Approved by').waitFor();
    await checkStop(page, '9-commit');
  });

  it('10: approves an operation that waits, and sees it succeed', { timeout: 120_000 }, async () => {
    await stage.admin.call('PUT', '/operation-templates/velero-restore', {
      approval: { count: 1, roles: { 'data-owner': 1 } },
    });
    const run = async (body: object) =>
      await ada.call<Intent>('POST', `/clusters/${stage.clusterId}/intents`, {
        action: 'operate',
        namespace: 'shop',
        ...body,
      });
    const backup = await run({ name: 'before-the-sale', operationTemplate: 'velero-backup' });
    await untilState(backup.id, 'ready');
    await stage.api.delete({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'settings' });
    await run({
      name: 'back-to-before',
      operationTemplate: 'velero-restore',
      parameters: { backup: 'before-the-sale-1' },
      reason: 'somebody deleted the settings',
    });

    await signIn(page, stage.controlPlaneUrl, stage.tokens.approver, '#/approvals');
    await page.getByRole('link', { name: 'velero-restore shop/back-to-before' }).click();
    await heading('Approve velero-restore shop/back-to-before').waitFor();
    await page.getByText('backup: before-the-sale-1').waitFor();
    await checkStop(page, '10-approval');
    await page.getByLabel('Comment').fill('the backup is of this morning');
    await button('Approve…').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click();
    await page.locator('.title .badge.approved').waitFor();
    await inNav('Operations');
    await page.getByRole('link', { name: 'shop/back-to-before' }).click();
    await page.locator('.title .badge.succeeded').waitFor(REPORTED);
    await checkStop(page, '10-succeeded');
    const settings = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'settings' };
    expect(await stage.api.get(settings)).toMatchObject({ data: { currency: 'EUR' } });
  });

  it('lets nobody approve what he asked for himself, and says so', { timeout: 60_000 }, async () => {
    await stage.admin.call('PUT', '/operation-templates/velero-backup', { approval: { count: 1 } });
    const body = { action: 'operate', namespace: 'shop', name: 'own', operationTemplate: 'velero-backup' };
    const { id } = await stage.admin.call<Intent>('POST', `/clusters/${stage.clusterId}/intents`, body);
    await signIn(page, stage.controlPlaneUrl, stage.tokens.admin, '#/approvals');
    await page.getByRole('link', { name: 'velero-backup shop/own' }).click();
    const approve = button('Approve…');
    await seeTip(approve, 'You asked for this: somebody else has to approve it.');
    expect(await approve.getAttribute('aria-disabled')).toBe('true');
    await button('Reject…').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reject', exact: true }).click();
    await page.locator('.title .badge.rejected').waitFor();
    await untilState(id, 'failed');
  });
});
