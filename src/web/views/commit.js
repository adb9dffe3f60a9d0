import { call, path } from '../api.js';
import { badge, element, facts, table, when } from '../element.js';
import { intentLink } from './links.js';
import { patchView } from './patch.js';

/**
 * From a commit to its intent, the person, the reason, the job and what became of it.
 *
 * @param {readonly string[]} parts
 */
export const commitView = async ([name = '', id = '']) => {
  const commit = await call('GET', path`/repositories/${name}/commits/${id}`);
  const { intent, signature } = commit;
  return element(
    'section',
    {},
    element('h1', {}, commit.subject),
    commit.body === undefined || commit.body === '' ? undefined : element('p', { class: 'note' }, commit.body),
    facts([
      ['Commit', element('code', {}, commit.id)],
      ['When', when(commit.at)],
      ['Asked for by', commit.trailers?.['Requested-By'] ?? commit.author.name],
      ['Approved by', commit.trailers?.['Approved-By']],
      ['Signature', signature === undefined ? undefined : signatureText(signature)],
      ['Cluster', commit.clusterSlug],
      ['Intent', intentLink(intent?.id)],
      ['State', intent === undefined ? undefined : badge(intent.state)],
      ['Applied', when(intent?.appliedAt)],
      ['Ready', when(intent?.readyAt)],
    ]),
    ...(intent === undefined ? [] : became(commit)),
    element('h2', {}, 'What it changed'),
    patchView(commit.files ?? []),
  );
};

/** @param {any} signature */
const signatureText = ({ state, principal, why }) =>
  element('span', {}, badge(state), ` ${state === 'trusted' ? `by ${principal}` : why}`);

/** How its object stands, and the jobs that carried it, where it went by jobs. @param {any} commit */
const became = ({ status = [], jobs = [] }) => [
  element('h2', {}, 'How its object stands'),
  table(
    'Conditions',
    ['Condition', 'Status', 'Reason', 'Message', 'Since'],
    status.map((/** @type {any} */ one) => [
      one.type,
      one.status,
      one.reason ?? '',
      one.message ?? '',
      when(one.lastTransitionTime),
    ]),
    'Its cluster has reported nothing yet.',
  ),
  ...(jobs.length === 0
    ? []
    : [
        element('h2', {}, 'Jobs'),
        table(
          'Jobs',
          ['Job', 'State', 'Outcome'],
          jobs.map((/** @type {any} */ job) => [job.id, job.state, job.outcome ?? '']),
          '',
        ),
      ]),
];
