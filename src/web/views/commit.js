import { call, path } from '../api.js';
import { badge, element, facts, when } from '../element.js';
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
      ['Signature', signature === undefined ? undefined : badge(signature.state)],
      ['Cluster', commit.clusterSlug],
      ['Intent', intentLink(intent?.id)],
      ['State', intent === undefined ? undefined : badge(intent.state)],
      ['Applied', when(intent?.appliedAt)],
      ['Ready', when(intent?.readyAt)],
    ]),
    element('h2', {}, 'What it changed'),
    patchView(commit.files ?? []),
  );
};
