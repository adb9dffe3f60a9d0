import { element } from '../element.js';

const KINDS = /** @type {const} */ ({ '+': 'added', '-': 'removed', '@': 'place' });
const MAX_LINES = 5000;

/**
 * The files of a change with a unified patch each. Added and removed lines differ by their sign too, not by colour alone.
 *
 * @param {readonly { readonly path: string, readonly status: string, readonly patch?: string }[]} files
 */
export const patchView = (files) =>
  element(
    'div',
    {},
    ...files.map(({ path, status, patch }) =>
      element(
        'details',
        { open: true, class: 'file' },
        element('summary', {}, element('code', {}, path), ` ${status}`),
        patch === undefined || patch === ''
          ? element('p', { class: 'quiet' }, 'Not shown: it is too large, or not text.')
          : element('pre', { tabindex: '0', 'aria-label': `Changes of ${path}` }, ...linesOf(patch)),
      ),
    ),
  );

/** @param {string} patch */
const linesOf = (patch) => {
  const lines = patch.replace(/\n$/, '').split('\n');
  const from = lines.findIndex((line) => line.startsWith('@@'));
  const shown = lines.slice(Math.max(0, from), Math.max(0, from) + MAX_LINES);
  const cut = lines.length - Math.max(0, from) - shown.length;
  return [
    ...shown.map((line) => element('span', { class: `line ${kindOf(line)}` }, `${line}\n`)),
    ...(cut > 0 ? [element('span', { class: 'line place' }, `… ${cut} more lines: servicectl shows them\n`)] : []),
  ];
};

/** @param {string} line */
const kindOf = (line) => {
  const sign = line.charAt(0);
  return sign === '+' || sign === '-' || sign === '@' ? KINDS[sign] : '';
};
