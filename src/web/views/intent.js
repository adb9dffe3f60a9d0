import { call, path } from '../api.js';
import { badge, element, facts, when } from '../element.js';
import { commitLink } from './links.js';

/**
 * From an intent to its commit or proposal, and how far it got.
 *
 * @param {readonly string[]} parts
 */
export const intentView = async ([id = '']) => {
  const intent = await call('GET', path`/intents/${id}`);
  const { proposal } = intent;
  return element(
    'section',
    {},
    element('h1', {}, `${intent.action} ${intent.namespace}/${intent.name}`),
    element('p', {}, badge(intent.state), intent.reason === undefined ? '' : ` ${intent.reason}`),
    intent.requestReason === undefined ? undefined : element('p', { class: 'note' }, intent.requestReason),
    facts([
      ['Intent', element('code', {}, intent.id)],
      ['Generation', String(intent.generation)],
      ['Asked for by', intent.requestedBy],
      [
        'Proposal',
        proposal === undefined
          ? undefined
          : element('a', { href: `#/proposals/${encodeURIComponent(proposal.id)}` }, proposal.state),
      ],
      ['Commit', commitLink(repositoryIn(intent.receipt?.link), intent.receipt?.commit)],
      ['Job', intent.receipt?.jobId],
      ['Accepted', when(intent.acceptedAt)],
      ['Delivered', when(intent.deliveredAt)],
      ['Applied', when(intent.appliedAt)],
      ['Ready', when(intent.readyAt)],
    ]),
  );
};

/** @param {string | undefined} link of a commit in the API */
const repositoryIn = (link) => {
  const name = /\/repositories\/([^/]+)\//.exec(link ?? '')?.[1];
  return name === undefined ? undefined : decodeURIComponent(name);
};
