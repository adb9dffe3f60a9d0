import { call, path, query } from '../api.js';
import { badge, element, table, when } from '../element.js';
import { commitLink } from './links.js';

/**
 * Commits of a repository, newest first; without a name, the repositories.
 *
 * @param {readonly string[]} parts
 * @param {URLSearchParams} parameters
 */
export const historyView = async ([name], parameters) =>
  name === undefined ? repositories() : commits(name, parameters);

const repositories = async () => {
  const page = await call('GET', '/repositories');
  const rows = page.items.map((/** @type {any} */ repository) => [
    element('a', { href: `#/history/${encodeURIComponent(repository.name)}` }, repository.name),
    element('code', {}, repository.url),
    repository.branch,
    repository.layout,
  ]);
  return element(
    'section',
    {},
    element('h1', {}, 'Repositories'),
    table('Repositories', ['Name', 'Address', 'Branch', 'Layout'], rows, 'There is no repository yet.'),
  );
};

/**
 * @param {string} name
 * @param {URLSearchParams} parameters
 */
const commits = async (name, parameters) => {
  const cluster = parameters.get('cluster') ?? undefined;
  const cursor = parameters.get('cursor') ?? undefined;
  const page = await call('GET', `${path`/repositories/${name}/commits`}${query({ cluster, cursor })}`);
  const rows = page.items.map((/** @type {any} */ commit) => [
    commitLink(name, commit.id),
    commit.subject,
    commit.trailers?.['Requested-By'] ?? commit.author.name,
    commit.intent === undefined ? 'not an intent' : badge(commit.intent.state),
    when(commit.at),
  ]);
  const address = `#/history/${encodeURIComponent(name)}`;
  return element(
    'section',
    {},
    element('h1', {}, cluster === undefined ? `History of ${name}` : `History of ${cluster} in ${name}`),
    filter(address, cluster),
    table('Commits', ['Commit', 'What', 'Who', 'Intent', 'When'], rows, 'No commit fits.'),
    page.nextCursor === undefined
      ? undefined
      : element('p', {}, element('a', { href: `${address}${query({ cluster, cursor: page.nextCursor })}` }, 'Older')),
  );
};

/**
 * @param {string} address
 * @param {string | undefined} cluster
 */
const filter = (address, cluster) => {
  const field = /** @type {HTMLInputElement} */ (
    element('input', { id: 'cluster', value: cluster ?? '', autocomplete: 'off', spellcheck: 'false' })
  );
  /** @param {Event} event */
  const apply = (event) => {
    event.preventDefault();
    location.hash = `${address.slice(1)}${query({ cluster: field.value.trim() })}`;
  };
  return element(
    'form',
    { onsubmit: apply, class: 'narrow' },
    element('label', { for: 'cluster' }, 'Only of cluster (slug)'),
    field,
  );
};
