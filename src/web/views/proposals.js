import { call, query } from '../api.js';
import { badge, element, table, when } from '../element.js';

const STATES = /** @type {const} */ (['open', 'merging', 'merged', 'rejected', 'superseded', 'failed']);

/**
 * Proposals in one state, those that wait for a person first.
 *
 * @param {readonly string[]} _parts
 * @param {URLSearchParams} parameters
 */
export const proposalsView = async (_parts, parameters) => {
  const state = parameters.get('state') ?? 'open';
  const cluster = parameters.get('cluster') ?? undefined;
  const cursor = parameters.get('cursor') ?? undefined;
  const page = await call('GET', `/proposals${query({ state, cluster, cursor })}`);
  const rows = page.items.map((/** @type {any} */ proposal) => [
    element('a', { href: `#/proposals/${encodeURIComponent(proposal.id)}` }, proposal.title),
    proposal.clusterSlug,
    proposal.author,
    badge(proposal.state),
    progressOf(proposal),
    when(proposal.updatedAt),
  ]);
  const next = page.nextCursor;
  return element(
    'section',
    {},
    element('h1', {}, cluster === undefined ? 'Proposals' : `Proposals of ${cluster}`),
    element(
      'ul',
      { class: 'tabs', 'aria-label': 'State' },
      ...STATES.map((name) =>
        element(
          'li',
          {},
          element(
            'a',
            {
              href: `#/proposals${query({ state: name, cluster })}`,
              'aria-current': name === state ? 'true' : undefined,
            },
            name,
          ),
        ),
      ),
    ),
    table(
      `Proposals that are ${state}`,
      ['What', 'Cluster', 'Asked for by', 'State', 'Approvals', 'Changed'],
      rows,
      state === 'open' ? 'Nothing waits for a review.' : `No proposal is ${state}.`,
    ),
    next === undefined
      ? undefined
      : element('p', {}, element('a', { href: `#/proposals${query({ state, cluster, cursor: next })}` }, 'Older')),
  );
};

/** @param {any} proposal */
const progressOf = ({ approvals }) => `${approvals.given.length} of ${approvals.required.count}`;
