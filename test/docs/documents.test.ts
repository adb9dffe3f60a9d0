import { existsSync, readFileSync } from 'node:fs';
import { globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');
const DOCUMENTS = [
  'README.md',
  'STYLE.md',
  'CHANGELOG.md',
  ...globSync('docs/**/*.md', { cwd: ROOT }),
  ...globSync('examples/**/*.md', { cwd: ROOT }),
];

/** Paths that a reader would look for in this repository: in backquotes, with a known first folder. */
const PATH_IN_BACKQUOTES = /`((?:src|test|docs|bench|crds|templates|examples|scripts|\.ci)\/[\w./-]*)`/g;
const LINK = /\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g;
const NPM_RUN = /npm (?:run(?: --silent)? )?(demo|test|check|format|generate|bench|build)(?::[\w-]+)?/g;

const found = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1] ?? '');

describe.each(DOCUMENTS)('%s', (document) => {
  const text = readFileSync(join(ROOT, document), 'utf8');

  it('names only paths that exist', () => {
    const missing = found(text, PATH_IN_BACKQUOTES).filter((path) => !existsSync(join(ROOT, path)));
    expect(missing).toEqual([]);
  });

  it('links only to files that exist', () => {
    const missing = found(text, LINK).filter((path) => !existsSync(join(ROOT, dirname(document), path)));
    expect(missing).toEqual([]);
  });

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const missing = found(text, NPM_RUN).filter((name) => scripts[name] === undefined);
    expect(missing).toEqual([]);
  });
});
