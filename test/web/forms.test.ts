import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { PODINFO, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { describeBrowser, openTab, startBrowser, type Tab } from '../support/browser.ts';
import { seeTip } from './see-tip.ts';
import { signIn } from './sign-in.ts';

const SECRET = 'hunter2-never-shown';

describeBrowser('the forms of the page', () => {
  let browser: Browser;
  let plane: RunningControlPlane;
  let tab: Tab;
  let page: Page;

  beforeAll(async () => {
    browser = await startBrowser();
    plane = await RunningControlPlane.start();
    await plane.call('PUT', '/catalog/podinfo', PODINFO);
    await plane.newCluster('prod-eu', { connectivityMode: 'pull', allowedOperationTemplates: ['scale'] });
  });

  afterAll(async () => {
    await browser.close();
    await plane[Symbol.asyncDispose]();
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

  const button = (name: string) => page.getByRole('button', { name, exact: true });

  it("asks for an operation by its template's parameters, and shows at the field what is wrong", async () => {
    await signIn(page, plane.url, plane.token, '#/templates/scale/run?cluster=prod-eu&namespace=shop');
    await page.getByText('Name it here or by the parameter name below, not by both.').waitFor();
    await page.getByLabel('Name of the target').fill('web');
    const replicas = page.getByLabel('replicas');
    await replicas.fill('many');
    await replicas.press('Tab');
    await page.getByText('must be a number').waitFor();
    await replicas.fill('4');
    await replicas.press('Tab');
    await button('Check').click();
    await page.getByText('It would be accepted.').waitFor();
    await button('Run it').click();
    await page.getByRole('heading', { name: /^operate shop\/scale-/ }).waitFor();
    const { body } = await plane.call('GET', '/operations?template=scale');
    expect(body['items']).toMatchObject([{ template: 'scale', targetRef: { kind: 'Deployment', name: 'web' } }]);
    const id = body['items'][0].id as string;
    expect((await plane.call('GET', `/operations/${id}`)).body).toMatchObject({ parameters: { replicas: 4 } });
  });

  it('lets nothing be asked for but what was checked', async () => {
    await signIn(page, plane.url, plane.token, '#/catalog/podinfo/install?cluster=prod-eu');
    await page.getByLabel('Chart version').fill('6.5.0');
    await button('Check').click();
    await page.getByText('It would be accepted.').waitFor();
    await expect.poll(async () => await button('Install').getAttribute('aria-disabled')).toBeNull();
    await page.getByLabel('Chart version').fill('6.6.0');
    await page.getByText('What was checked below has been changed since.').waitFor();
    expect(await button('Install').getAttribute('aria-disabled')).toBe('true');
  });

  it('forgets what was wrong with an item of a list that is taken out again', async () => {
    const valuesSchema = { type: 'object', properties: { ports: { type: 'array', items: { type: 'integer' } } } };
    await plane.call('PUT', '/catalog/podinfo', { ...PODINFO, valuesSchema });
    await signIn(page, plane.url, plane.token, '#/catalog/podinfo/install?cluster=prod-eu');
    await page.getByLabel('Chart version').fill('6.5.0');
    await button('Add to ports').click();
    await page.getByLabel('1', { exact: false }).last().fill('http');
    await page.getByLabel('Reason').focus();
    await page.getByText('must be a number').waitFor();
    await expect.poll(async () => await button('Check').getAttribute('aria-disabled')).toBe('true');
    await button('Remove ports 1').click();
    await expect.poll(async () => await button('Check').getAttribute('aria-disabled')).toBeNull();
  });

  it('sends secret values apart, and shows them nowhere again', async () => {
    await signIn(page, plane.url, plane.token, '#/catalog/podinfo/install?cluster=prod-eu');
    await page.getByLabel('Chart version').fill('6.5.0');
    await page.getByText('Secret values', { exact: true }).click();
    const field = page.getByLabel('Secret values as YAML');
    await field.fill(`password: [${SECRET}`);
    await page.getByText('cannot be read as a YAML mapping').waitFor();
    expect(await page.locator('main').textContent()).not.toContain(SECRET);
    await field.fill(`password: ${SECRET}`);
    const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/intents'));
    await button('Check').click();
    const asked = (await sent).postDataJSON() as Record<string, unknown>;
    expect(asked['secretValues']).toEqual({ password: SECRET });
    expect(JSON.stringify({ ...asked, secretValues: undefined })).not.toContain(SECRET);
    await page.getByRole('status').filter({ hasText: 'It would be' }).waitFor();
    expect(await page.locator('main').textContent()).not.toContain(SECRET);
    expect(page.url()).not.toContain(SECRET);
  });

  it('takes a kubeconfig for push mode, says what is wrong with it, and echoes nothing of it', async () => {
    await signIn(page, plane.url, plane.token, '#/clusters/prod-eu/mode');
    await page.getByRole('radio', { name: 'push', exact: true }).check();
    expect(await button('Try it out').getAttribute('aria-disabled')).toBe('true');
    await page.getByLabel('Kubeconfig', { exact: true }).fill(`token: ${SECRET}`);
    await button('Try it out').click();
    await page.getByRole('alert').filter({ hasText: /\S/ }).first().waitFor();
    expect(await page.locator('main').textContent()).not.toContain(SECRET);
  });

  it('shows a viewer what he may not do, with why, and sends nothing', async () => {
    const { body } = await plane.call('POST', '/admin-tokens', { name: 'vera', access: ['viewer'] });
    await signIn(page, plane.url, body['token'] as string, '#/catalog/podinfo');
    const posts: string[] = [];
    page.on('request', (request) => request.method() !== 'GET' && posts.push(request.url()));
    const install = button('Install');
    await install.waitFor();
    expect(await install.getAttribute('aria-disabled')).toBe('true');
    await install.click({ force: true });
    await seeTip(install, 'This needs the scope deploy');
    expect([page.url(), posts]).toEqual([`${plane.url}/#/catalog/podinfo`, []]);
  });

  it('follows the audit without loading it anew', async () => {
    await signIn(page, plane.url, plane.token, '#/audit?kind=ClusterCreated');
    const rows = page.getByRole('table', { name: 'Audit' }).getByRole('row');
    await expect.poll(async () => await rows.count()).toBe(2);
    await button('Follow').click();
    await page.getByText('New entries come by themselves.').waitFor();
    await plane.newCluster('prod-us');
    await expect.poll(async () => await rows.count(), { timeout: 15_000 }).toBe(3);
    expect(page.url()).toContain('follow=1');
  });
});
