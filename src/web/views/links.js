import { element } from '../element.js';

/**
 * @param {string | undefined} repository
 * @param {string | undefined} commit
 */
export const commitLink = (repository, commit) => {
  if (commit === undefined) return undefined;
  const text = element('code', { title: commit }, commit.slice(0, 10));
  if (repository === undefined) return text;
  const address = `#/history/${encodeURIComponent(repository)}/commits/${encodeURIComponent(commit)}`;
  return element('a', { href: address }, text);
};

/** @param {string | undefined} id */
export const intentLink = (id) =>
  id === undefined ? undefined : element('a', { href: `#/intents/${encodeURIComponent(id)}` }, id);
