/** @typedef {Node | string | undefined | false} Child */

/**
 * A DOM element. Text only ever becomes a text node, so nothing that a server says can become markup.
 *
 * @param {string} tag
 * @param {Readonly<Record<string, string | boolean | EventListener | undefined>>} [attributes] a function is a listener
 *   (`onclick`); true is an empty attribute; undefined and false are left out
 * @param {readonly Child[]} children
 * @returns {HTMLElement}
 */
export const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, '');
    else if (typeof value === 'string') made.setAttribute(name, value);
  }
  made.append(...children.flatMap((child) => (child === undefined || child === false ? [] : [child])));
  return made;
};

/**
 * A table that a narrow screen can scroll. Each row has as many cells as `head`.
 *
 * @param {string} caption
 * @param {readonly string[]} head
 * @param {readonly (readonly Child[])[]} rows
 * @param {string} ifEmpty
 */
export const table = (caption, head, rows, ifEmpty) =>
  rows.length === 0
    ? element('p', { class: 'quiet' }, ifEmpty)
    : element(
        'div',
        { class: 'scrolled', tabindex: '0', role: 'region', 'aria-label': caption },
        element(
          'table',
          {},
          element('caption', { class: 'hidden' }, caption),
          element('thead', {}, element('tr', {}, ...head.map((text) => element('th', { scope: 'col' }, text)))),
          element(
            'tbody',
            {},
            ...rows.map((cells) => element('tr', {}, ...cells.map((cell) => element('td', {}, cell)))),
          ),
        ),
      );

/**
 * Terms with what they stand for; those without a value are left out.
 *
 * @param {readonly (readonly [string, Child])[]} entries
 */
export const facts = (entries) =>
  element(
    'dl',
    { class: 'facts' },
    ...entries.flatMap(([term, value]) =>
      value === undefined || value === false || value === '' ? [] : [element('dt', {}, term), element('dd', {}, value)],
    ),
  );

/** @param {string} state */
export const badge = (state) => element('span', { class: `badge ${state}` }, state);

/** @param {string | undefined} id */
export const short = (id) => (id === undefined ? undefined : element('code', { title: id }, id.slice(0, 10)));

/** @param {string | undefined} at RFC 3339 */
export const when = (at) =>
  at === undefined ? undefined : element('time', { datetime: at, title: at }, relative(new Date(at), new Date()));

const UNITS = /** @type {const} */ ([
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]);

/**
 * @param {Date} at
 * @param {Date} now
 */
const relative = (at, now) => {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000);
  const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
  for (const [unit, size] of UNITS)
    if (Math.abs(seconds) >= size) return words.format(Math.trunc(seconds / size), unit);
  return words.format(seconds, 'second');
};
