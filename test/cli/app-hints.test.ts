import { expect, it } from 'vitest';
import { appHint } from '../../src/cli/app-hints.ts';
import { faultText } from '../../src/cli/app-values.ts';
import { shellWord } from '../../src/cli/shell-word.ts';

it('says how what is there is changed, and where to see what is not there', () => {
  const app = { namespace: 'shop', name: 'web', entry: 'podinfo' };
  expect(appHint('eu', { ...app, action: 'install' })(['/action'])).toBe(
    'To change it: servicectl apps upgrade eu shop/web --help',
  );
  expect(appHint('eu', { ...app, action: 'uninstall' })(['/action'])).toBe(
    'See which there are: servicectl apps list eu',
  );
  const fault = { path: '/action', message: 'shop/web is installed already' };
  expect(faultText(fault, () => undefined)).toBe('shop/web is installed already');
});

it('prints names as a shell takes them for one word', () => {
  expect(appHint('a b', { namespace: 'x', name: "y'z" })(['/other'])).toBe(
    String.raw`See how it stands: servicectl apps show 'a b' 'x/y'\''z'`,
  );
  expect(['prod-eu', '$(id)', ''].map(shellWord)).toEqual(['prod-eu', "'$(id)'", "''"]);
});
