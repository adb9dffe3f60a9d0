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
/** To a heading, of another document or of this one. */
const ANCHOR = /\]\((?!https?:)([^)#\s]*#[^)\s]+)\)/g;
const NPM_RUN = /npm run (?:--silent )?([a-z][\w:-]*)/g;
/** The Node that a reader has may be an older one, which knows no TypeScript. */
const BARE_NODE = /(?<!npx )\bnode ((?:src|test|bench|examples|scripts)\/\S+\.ts)/g;
const OWN_NODE = 'node_modules/.bin:$PATH';

const found = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1] ?? '');

/** What a document can be linked at: its headings, by GitHub's rule, and anchors that are written out. */
function anchors(document: string): ReadonlySet<string> {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const headings = found(text.replaceAll(/^```[\s\S]*?^```$/gm, ''), /^#+ (.+)$/gm);
  const slugs = headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
  return new Set([...slugs, ...found(text, /<a id="([^"]+)">/g)]);
}

describe.each(DOCUMENTS)('%s', (document) => {
  const text = readFileSync(join(ROOT, document), 'utf8');

  it('names only paths that exist', () => {
    const missing = found(text, PATH_IN_BACKQUOTES).filter((path) => !existsSync(join(ROOT, path)));
    expect(missing).toEqual([]);
  });

  it('links only to files that exist', () => {
    // A pattern in backquotes can look like a link, and is none.
    const prose = text.replaceAll(/`[^`\n]+`/g, '``');
    const missing = found(prose, LINK).filter((path) => !existsSync(join(ROOT, dirname(document), path)));
    expect(missing).toEqual([]);
  });

  it('links only to headings that exist', () => {
    const missing = found(text, ANCHOR).filter((link) => {
      const [path = '', anchor = ''] = link.split('#');
      const target = path === '' ? document : join(dirname(document), path);
      return target.endsWith('.md') && !anchors(target).has(anchor);
    });
    expect(missing).toEqual([]);
  });

  it("starts no program by whatever Node the reader's shell finds", () => {
    expect(found(text.split(OWN_NODE)[0] ?? '', BARE_NODE)).toEqual([]);
  });

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const missing = found(text, NPM_RUN).filter((name) => scripts[name] === undefined);
    expect(missing).toEqual([]);
  });
});
