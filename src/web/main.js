import { ApiError, session } from './api.js';
import { element } from './element.js';
import { commitView } from './views/commit.js';
import { historyView } from './views/history.js';
import { intentView } from './views/intent.js';
import { proposalView } from './views/proposal.js';
import { proposalsView } from './views/proposals.js';
import { signInView } from './views/sign-in.js';

/**
 * What an address shows: its parts, and the parameters behind `?`.
 *
 * @typedef {(parts: readonly string[], parameters: URLSearchParams) => Promise<HTMLElement>} View
 */

/** @type {readonly (readonly [RegExp, View])[]} */
const ROUTES = [
  [/^\/?$/, proposalsView],
  [/^\/proposals$/, proposalsView],
  [/^\/proposals\/([^/]+)$/, proposalView],
  [/^\/history$/, historyView],
  [/^\/history\/([^/]+)$/, historyView],
  [/^\/history\/([^/]+)\/commits\/([^/]+)$/, commitView],
  [/^\/intents\/([^/]+)$/, intentView],
];

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const signOut = /** @type {HTMLButtonElement} */ (document.getElementById('sign-out'));

/** The address that was asked for last: what is slower than it is not shown. */
let asked = '';

const show = async () => {
  const address = location.hash.slice(1);
  asked = address;
  signOut.hidden = session.token() === undefined;
  markPage(address);
  const view = await viewOf(address);
  if (asked !== address) return;
  main.replaceChildren(view);
  document.title = `${view.querySelector('h1')?.textContent ?? ''} · service`;
  main.focus({ preventScroll: true });
};

/** @param {string} address */
const viewOf = async (address) => {
  if (session.token() === undefined) return signInView(show);
  const [path = '', parameters = ''] = address.split('?', 2);
  try {
    for (const [pattern, view] of ROUTES) {
      const match = pattern.exec(path);
      if (match !== null) return await view(match.slice(1).map(decodeURIComponent), new URLSearchParams(parameters));
    }
    return problem('There is no such page', 'The address leads nowhere.');
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      session.close();
      signOut.hidden = true;
      return signInView(show, error.message);
    }
    if (error instanceof ApiError)
      return problem('This cannot be shown', `${error.message} (${error.requestId ?? ''})`);
    return problem('The control plane does not answer', error instanceof Error ? error.message : String(error));
  }
};

/**
 * @param {string} title
 * @param {string} message
 */
const problem = (title, message) =>
  element(
    'section',
    {},
    element('h1', {}, title),
    element('p', { class: 'fault', role: 'alert' }, message),
    element('button', { type: 'button', onclick: () => void show() }, 'Try again'),
  );

/** @param {string} address */
const markPage = (address) => {
  for (const link of document.querySelectorAll('nav a')) {
    const target = link.getAttribute('href')?.slice(1) ?? '';
    if (address.startsWith(target)) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
};

signOut.addEventListener('click', () => {
  session.close();
  void show();
});
window.addEventListener('hashchange', () => void show());
void show();
