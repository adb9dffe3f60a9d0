import { call, path } from '../api.js';
import { badge, element, facts, short, when } from '../element.js';
import { commitLink } from './links.js';
import { patchView } from './patch.js';

/**
 * One proposal: what it changes, who said what, and what the reader may do about it.
 *
 * @param {readonly string[]} parts
 */
export const proposalView = async ([id = '']) => {
  const view = element('section', {});
  await fill(view, id);
  return view;
};

/** While it merges somebody waits for it: looked at again so often, and so many times at the most. */
const LOOK_AGAIN_MS = 1500;
const MAX_LOOKS = 80;

/**
 * @param {HTMLElement} view
 * @param {string} id
 * @param {number} [looks] how often it was looked at already while it merges
 */
const fill = async (view, id, looks = 0) => {
  const [proposal, diff] = await Promise.all([
    call('GET', path`/proposals/${id}`),
    call('GET', path`/proposals/${id}/diff`).catch((/** @type {Error} */ error) => error),
  ]);
  view.replaceChildren(
    element('h1', {}, proposal.title),
    element(
      'p',
      {},
      badge(proposal.state),
      ` asked for by ${proposal.author} `,
      when(proposal.createdAt) ?? '',
      proposal.revision > 1 ? `, rendered ${proposal.revision} times` : '',
    ),
    proposal.closeReason === undefined ? '' : element('p', { class: 'note' }, proposal.closeReason),
    facts([
      ['Cluster', proposal.clusterSlug],
      ['Approvals', approvalsOf(proposal)],
      ['Intent', element('a', { href: `#/intents/${encodeURIComponent(proposal.intentId)}` }, proposal.intentId)],
      ['Branch', element('code', {}, proposal.branch)],
      ['Stands on', short(proposal.baseCommit)],
      ['Merged as', commitLink(proposal.repository, proposal.mergedCommit)],
      ['On its Git host', hostLink(proposal)],
    ]),
    element('h2', {}, 'What it changes'),
    diff instanceof Error
      ? element('p', { class: 'fault' }, `The difference cannot be shown: ${diff.message}`)
      : patchView(diff.files),
    element('h2', {}, 'Reviews'),
    reviewsOf(proposal),
    ...(proposal.state === 'open' || proposal.state === 'merging' ? [actions(view, proposal)] : []),
  );
  if (proposal.state === 'merging' && looks < MAX_LOOKS) {
    setTimeout(() => void lookAgain(view, id, looks + 1), LOOK_AGAIN_MS);
  }
};

/**
 * Nobody's half-written comment is taken away, and a view that was left is not filled.
 *
 * @param {HTMLElement} view
 * @param {string} id
 * @param {number} looks
 */
const lookAgain = async (view, id, looks) => {
  const comment = view.querySelector('textarea')?.value ?? '';
  if (!view.isConnected || comment !== '') return;
  await fill(view, id, looks).catch(() => undefined);
};

/** @param {any} proposal */
const approvalsOf = ({ approvals: { given, required, missing } }) => {
  const had = given.length === 0 ? 'none yet' : given.join(', ');
  const roles = Object.entries(missing.roles ?? {}).map(([role, count]) => `${count} as ${role}`);
  const wanted = [...(missing.count > 0 ? [`${missing.count} more`] : []), ...roles];
  return wanted.length === 0 ? `${had}: all ${required.count} that are needed` : `${had}; needs ${wanted.join(', ')}`;
};

/** Only an address that a browser opens as a page; whatever else a host says is shown as text. @param {any} proposal */
const hostLink = ({ hostUrl, hostNumber }) => {
  if (hostUrl === undefined) return undefined;
  const text = hostNumber === undefined ? hostUrl : `number ${hostNumber}`;
  return /^https?:\/\//.test(hostUrl) ? element('a', { href: hostUrl, rel: 'noreferrer' }, text) : text;
};

/** @param {any} proposal */
const reviewsOf = ({ reviews }) =>
  reviews.length === 0
    ? element('p', { class: 'quiet' }, 'Nobody has said anything yet.')
    : element(
        'ol',
        { class: 'reviews' },
        ...reviews.map((/** @type {any} */ review) =>
          element(
            'li',
            { class: review.droppedAt === undefined ? undefined : 'dropped' },
            element('strong', {}, review.actor),
            ` ${VERBS[/** @type {keyof typeof VERBS} */ (review.kind)] ?? review.kind} `,
            when(review.at) ?? '',
            review.roles.length === 0 ? '' : ` as ${review.roles.join(', ')}`,
            review.droppedAt === undefined ? '' : ` (of revision ${review.revision}; no longer counts)`,
            review.comment === undefined ? '' : element('p', { class: 'said' }, review.comment),
          ),
        ),
      );

const VERBS = /** @type {const} */ ({ approve: 'approved', reject: 'rejected', comment: 'commented' });

const ACTIONS = /** @type {const} */ ([
  ['approve', 'Approve', 'main'],
  ['comment', 'Comment', ''],
  ['merge', 'Merge', ''],
  ['reject', 'Reject', 'danger'],
  ['supersede', 'Withdraw', 'danger'],
]);

/**
 * The revision that was read goes with each act: what was rendered again meanwhile is not approved unseen.
 *
 * @param {HTMLElement} view
 * @param {any} proposal
 */
const actions = (view, { id, revision }) => {
  const comment = /** @type {HTMLTextAreaElement} */ (
    element('textarea', { id: 'comment', rows: '3', maxlength: '4000' })
  );
  const fault = element('p', { class: 'fault', role: 'alert' });
  const buttons = ACTIONS.map(([verb, label, look]) =>
    element('button', { type: 'button', class: look, 'data-act': verb, onclick: () => void act(verb) }, label),
  );
  /** @param {string} verb */
  const act = async (verb) => {
    const text = comment.value.trim();
    for (const button of buttons) button.setAttribute('disabled', '');
    try {
      await call('POST', `${path`/proposals/${id}`}/${verb}`, { revision, ...(text === '' ? {} : { comment: text }) });
      await fill(view, id);
    } catch (error) {
      fault.textContent = error instanceof Error ? error.message : String(error);
      for (const button of buttons) button.removeAttribute('disabled');
    }
  };
  return element(
    'form',
    { class: 'actions', onsubmit: (event) => event.preventDefault() },
    element('label', { for: 'comment' }, 'Comment'),
    comment,
    fault,
    element('div', { class: 'buttons' }, ...buttons),
  );
};
