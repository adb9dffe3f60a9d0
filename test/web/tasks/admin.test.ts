import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { describeBrowser, openTab, startBrowser, type Tab } from '../../support/browser.ts';
import { signIn } from '../sign-in.ts';
import { checkStop } from './check-page.ts';
import { setTaskStage, type TaskStage } from './task-stage.ts';

/** What comes back from the cluster, by its operator. */
const REPORTED = { timeout: 30_000 };

describeBrowser('the tasks of an admin', () => {
  let browser: Browser;
  let stage: TaskStage;
  let tab: Tab;
  let page: Page;

  beforeAll(async () => {
    browser = await startBrowser();
    stage = await setTaskStage();
    tab = await openTab(browser);
    ({ page } = tab);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  }, 90_000);

  afterAll(async () => {
    await tab[Symbol.asyncDispose]();
    await browser.close();
    await stage[Symbol.asyncDispose]();
  });

  // Each task begins where the one before it ended, as a person's day does.
  beforeEach(() => () => expect(tab.faults).toEqual([]));

  const heading = (name: string | RegExp) => page.getByRole('heading', { name, level: 1 });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const badge = (state: string) => page.locator(`.title .badge.${state}`);
  const inNav = async (name: string) =>
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();

  it('1: signs in and sees the fleet', { timeout: 60_000 }, async () => {
    await signIn(page, stage.controlPlaneUrl, stage.tokens.admin);
    await heading('Fleet').waitFor();
    await page.getByText('healthy').first().waitFor();
    expect(await page.title()).toBe('Fleet · service');
    await checkStop(page, '1-fleet');
  });

  it('2: creates a cluster and copies the install command', { timeout: 90_000 }, async () => {
    await inNav('Clusters');
    await heading('Clusters').waitFor();
    await button('New cluster').click();
    await page.getByLabel('Slug').fill('prod-eu');
    await page.getByLabel('Namespaces that may be installed into').fill('shop');
    await checkStop(page, '2-new-cluster');
    await button('Make the cluster').click();
    await button('I have it').click();
    await heading('prod-eu').waitFor();
    await button('Make the commands').click();
    await page
      .getByText(/kubectl apply/)
      .first()
      .waitFor();
    await checkStop(page, '2-install-commands');
    await page
      .getByRole('button', { name: /^Copy the .*command/ })
      .last()
      .click();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toContain('kubectl');
  });

  it('3: installs an application by its form, and follows it to Ready', { timeout: 120_000 }, async () => {
    await inNav('Catalog');
    await page.getByRole('link', { name: 'podinfo', exact: true }).click();
    await heading('podinfo').waitFor();
    await checkStop(page, '3-catalog-entry');
    await button('Install').click();
    await page.getByLabel('Cluster', { exact: true }).fill('demo');
    await button('Choose').click();
    await page.getByLabel('Name', { exact: true }).fill('web');
    await page.getByLabel('Chart version').fill('6.5.0');

    // What the form itself finds wrong stands against asking.
    const replicas = page.getByLabel('replicaCount');
    await replicas.fill('9');
    await replicas.press('Tab');
    await page.getByText('must be 5 or less').waitFor();
    await expect.poll(async () => await button('Check').getAttribute('aria-disabled')).toBe('true');
    await replicas.fill('2');
    await replicas.press('Tab');

    // What the control plane finds wrong stands at its field.
    await page.getByLabel('color').fill('blue');
    await page.getByLabel('Reason').fill('the shop needs it');
    await button('Check').click();
    await page.getByText('It would be refused, for one reason: see the fields above.').waitFor();
    const color = page.getByLabel('color');
    const [told = '', at = ''] = (await color.getAttribute('aria-describedby'))?.split(' ').toReversed() ?? [];
    expect(at).not.toBe('');
    expect(await color.getAttribute('aria-invalid')).toBe('true');
    expect(await page.locator(`[id="${told}"]`).textContent()).toBe('must match ^#[0-9a-f]{6}$');
    await checkStop(page, '3-form-with-a-fault');
    await page.getByLabel('color').fill('#336699');

    // The text view has what the form has.
    await button('YAML').click();
    const text = page.getByLabel('Values as YAML', { exact: true });
    await expect.poll(async () => await text.inputValue()).toContain('replicaCount: 2');
    await text.fill('replicaCount: 3\nui:\n  color: "#336699"\n');
    await button('Form').click();
    expect(await replicas.inputValue()).toBe('3');

    await button('Check').click();
    await page.getByText('It would be accepted.').waitFor();
    await page.locator('.diff-table', { hasText: 'kind: ApplicationInstance' }).waitFor();
    await checkStop(page, '3-form-checked');
    await button('Install').click();
    await heading('install shop/web').waitFor();
    await badge('ready').waitFor(REPORTED);
    const journey = page.getByRole('list', { name: 'Journey of the intent' });
    expect(await journey.getByText('still to come').count()).toBe(0);
    await checkStop(page, '3-journey');
  });

  it('4: upgrades it, with the diff before it is asked for', { timeout: 120_000 }, async () => {
    await page.getByRole('link', { name: 'shop/web' }).click();
    await heading('shop/web').waitFor();
    await button('Upgrade or change').click();
    const version = page.getByLabel('Chart version');
    await version.waitFor();
    // The form begins with what stands.
    expect([await version.inputValue(), await page.getByLabel('replicaCount').inputValue()]).toEqual(['6.5.0', '3']);
    await version.fill('6.6.1');
    await button('Check').click();
    const fields = page.getByRole('list', { name: 'Fields that change' });
    await fields.getByText('6.6.1').first().waitFor();
    await checkStop(page, '4-upgrade-diff');
    await button('Upgrade').click();
    await heading('update shop/web').waitFor();
    await badge('ready').waitFor(REPORTED);
  });

  it('7: finds out why something failed: search, application, events', { timeout: 120_000 }, async () => {
    const { id } = await stage.admin.call<{ id: string }>('POST', `/clusters/${stage.clusterId}/intents`, {
      action: 'install',
      namespace: 'shop',
      name: 'storefront',
      catalogEntry: 'storefront',
      chartVersion: '6.5.0',
      values: { replicaCount: -1 },
    });
    const stateOf = async () => (await stage.admin.call<{ state: string }>('GET', `/intents/${id}`)).state;
    await expect.poll(stateOf, REPORTED).toBe('failed');
    await page.keyboard.press('/');
    await page.keyboard.type('storefront');
    await page.keyboard.press('Enter');
    await heading('Search for storefront').waitFor();
    await checkStop(page, '7-search');
    await page
      .getByRole('link', { name: /shop\/storefront/ })
      .first()
      .click();
    await heading('shop/storefront').waitFor();
    await page
      .getByRole('table', { name: 'Events' })
      .getByText(/replicas|Invalid/)
      .first()
      .waitFor();
    await checkStop(page, '7-application');
  });

  it('8: reads the audit with filters, and shares the link', { timeout: 90_000 }, async () => {
    await inNav('Audit');
    await heading('Audit').waitFor();
    await page.getByLabel('What', { exact: true }).fill('ClusterCreated');
    const rows = page.getByRole('table', { name: 'Audit' }).getByRole('row');
    await expect.poll(async () => await rows.count()).toBe(3);
    expect(page.url()).toContain('kind=ClusterCreated');
    await checkStop(page, '8-audit');
    await button('Copy link').click();
    const link = await page.evaluate<string>('navigator.clipboard.readText()');
    await using other = await openTab(browser);
    await other.page.goto(link);
    await other.page.getByLabel('Admin token').fill(stage.tokens.approver);
    await other.page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await expect
      .poll(async () => await other.page.getByRole('table', { name: 'Audit' }).getByRole('row').count())
      .toBe(3);
  });

  it('5: switches the mode, after a dry run', { timeout: 120_000 }, async () => {
    await page.goto(`${stage.controlPlaneUrl}/#/clusters/demo`);
    await page.locator('a[href="#/clusters/demo/mode"]').first().click();
    await heading('Mode of demo').waitFor();
    await page.getByRole('radio', { name: 'gitops', exact: true }).check();
    await button('Try it out').click();
    await page.getByText('Nothing is in the way').waitFor(REPORTED);
    await checkStop(page, '5-dry-run');
    await button('Switch…').click();
    await button('Switch').click();
    await heading('demo: pull → gitops').waitFor();
    await badge('active').waitFor(REPORTED);
    expect(await stage.admin.call('GET', '/clusters/demo')).toMatchObject({ connectivityMode: 'gitops' });
    await checkStop(page, '5-switched');
  });

  it('6: rotates a credential, and revokes all', { timeout: 90_000 }, async () => {
    await page.goto(`${stage.controlPlaneUrl}/#/clusters/demo/credentials`);
    await page.getByRole('heading', { name: 'What can be done' }).waitFor();
    const rotated = async () =>
      (await stage.admin.call<{ items: unknown[] }>('GET', '/audit?kind=CredentialRotated')).items.length;
    await button('Rotate').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click();
    await page.getByText('Asked demo to rotate its credential').waitFor();
    await expect.poll(rotated, REPORTED).toBeGreaterThan(0);
    await button('Revoke').click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Revoke', exact: true }).isDisabled()).toBe(true);
    await dialog.getByLabel(/Type demo/).fill('demo');
    await checkStop(page, '6-revoke');
    await dialog.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('There is none').waitFor();
  });
});
