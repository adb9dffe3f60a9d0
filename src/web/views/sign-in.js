import { session } from '../api.js';
import { element } from '../element.js';

/**
 * @param {() => Promise<void>} done
 * @param {string} [why] the session ended
 */
export const signInView = (done, why) => {
  const field = /** @type {HTMLInputElement} */ (
    element('input', { id: 'token', type: 'password', autocomplete: 'off', required: true, spellcheck: 'false' })
  );
  /** @param {Event} event */
  const open = (event) => {
    event.preventDefault();
    session.open(field.value.trim());
    void done();
  };
  return element(
    'section',
    { class: 'narrow' },
    element('h1', {}, 'Sign in'),
    why === undefined ? undefined : element('p', { class: 'fault', role: 'alert' }, why),
    element(
      'form',
      { onsubmit: open },
      element('label', { for: 'token' }, 'Admin token'),
      field,
      element('p', { class: 'quiet' }, 'It stays in this tab and is gone when the tab is closed.'),
      element('button', { type: 'submit', class: 'main' }, 'Sign in'),
    ),
  );
};
