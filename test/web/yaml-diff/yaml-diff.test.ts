import { describe, expect, it } from 'vitest';
import { changedFields } from '../../../src/web/yaml-diff/changed-fields.ts';
import { diffRows } from '../../../src/web/yaml-diff/diff-rows.ts';
import { markWords } from '../../../src/web/yaml-diff/mark-words.ts';
import { parsePatch } from '../../../src/web/yaml-diff/parse-patch.ts';

const PATCH = `diff --git a/app.yaml b/app.yaml
--- a/app.yaml
+++ b/app.yaml
@@ -1,4 +1,4 @@
 spec:
-  version: 6.5.0
+  version: 6.6.1
   values:
     replicas: 2
@@ -20,3 +20,4 @@ spec:
   a: 1
+  b: 2
   c: 3
-  d: 4
+  d: 5
\\ No newline at end of file
`;

describe('parsePatch', () => {
  it('reads hunks with the numbers of their lines, and leaves out what stands before them', () => {
    const { hunks, added, removed, cut } = parsePatch(PATCH);
    expect({ added, removed, cut }).toEqual({ added: 3, removed: 2, cut: 0 });
    expect(hunks.map(({ before, after, heading }) => [before, after, heading])).toEqual([
      [1, 1, ''],
      [20, 20, 'spec:'],
    ]);
    expect(hunks[0]?.lines.slice(0, 3)).toEqual([
      { kind: 'same', text: 'spec:', before: 1, after: 1 },
      { kind: 'removed', text: '  version: 6.5.0', before: 2 },
      { kind: 'added', text: '  version: 6.6.1', after: 2 },
    ]);
    expect(hunks[1]?.lines.at(-1)).toEqual({ kind: 'added', text: '  d: 5', after: 23, hasNoNewline: true });
  });

  it('reads no more lines than asked for, counts the others, and counts every change', () => {
    const { hunks, added, removed, cut } = parsePatch(PATCH, 3);
    expect(hunks.flatMap(({ lines }) => lines)).toHaveLength(3);
    expect({ added, removed, cut }).toEqual({ added: 3, removed: 2, cut: 7 });
  });

  it('takes a text that is not a patch for one without changes', () => {
    expect(parsePatch('')).toEqual({ hunks: [], added: 0, removed: 0, cut: 0 });
  });
});

describe('markWords', () => {
  it('marks the words in which two lines differ', () => {
    expect(markWords('  version: 6.5.0', '  version: 6.6.1')).toEqual({
      before: [
        { text: '  version: 6.', isChanged: false },
        { text: '5', isChanged: true },
        { text: '.', isChanged: false },
        { text: '0', isChanged: true },
      ],
      after: [
        { text: '  version: 6.', isChanged: false },
        { text: '6', isChanged: true },
        { text: '.', isChanged: false },
        { text: '1', isChanged: true },
      ],
    });
  });

  it('tells lines with little in common as two lines', () => {
    expect(markWords('replicas: 2', 'image: nginx')).toBeUndefined();
  });

  it('does not compare lines of thousands of words', () => {
    expect(markWords('a '.repeat(5000), 'b '.repeat(5000))).toBeUndefined();
  });
});

describe('diffRows', () => {
  it('puts an added line beside the removed one, and tells of the lines between two hunks', () => {
    const rows = diffRows(parsePatch(PATCH).hunks);
    expect(rows.map(({ kind }) => kind)).toEqual(
      ['same', 'changed', 'same', 'same', 'gap', 'same', 'changed', 'same', 'changed'], //
    );
    expect(rows[4]).toEqual({ kind: 'gap', lines: 15 });
    expect(rows[1]).toMatchObject({ before: { number: 2 }, after: { number: 2 } });
    expect(rows[6]).not.toHaveProperty('before');
  });

  it('folds what is unchanged but for three lines around a change', () => {
    const same = (count: number) => Array.from({ length: count }, (_, index) => ` line: ${index}`).join('\n');
    const rows = diffRows(parsePatch(`@@ -1,41 +1,41 @@\n${same(20)}\n-x: 1\n+x: 2\n${same(20)}\n`).hunks);
    expect(rows.map((row) => (row.kind === 'fold' ? row.rows.length : row.kind))).toEqual(
      [17, 'same', 'same', 'same', 'changed', 'same', 'same', 'same', 17], //
    );
  });

  it('folds nothing that is shorter than what would be shown in its place', () => {
    const rows = diffRows(parsePatch('@@ -1,7 +1,7 @@\n a: 1\n b: 1\n c: 1\n-d: 1\n+d: 2\n e: 1\n').hunks);
    expect(rows.map(({ kind }) => kind)).toEqual(['same', 'same', 'same', 'changed', 'same']);
  });

  it('begins a new file with its first line, without a gap', () => {
    expect(diffRows(parsePatch('@@ -0,0 +1,2 @@\n+a: 1\n+b: 2\n').hunks).map(({ kind }) => kind)).toEqual(
      ['changed', 'changed'], //
    );
  });
});

describe('changedFields', () => {
  it('names each field with where it stands, and what it was and is', () => {
    expect(changedFields(parsePatch(PATCH).hunks)).toEqual([
      { path: 'spec.version', before: '6.5.0', after: '6.6.1' },
      { path: 'b', after: '2' },
      { path: 'd', before: '4', after: '5' },
    ]);
  });

  it('leaves out what the control plane writes with each change', () => {
    const patch =
      '@@ -1,3 +1,3 @@\n metadata:\n   annotations:\n-    app.service.io/source: "1.1"\n+    app.service.io/source: "1.2"\n-    team: a\n+    team: b\n';
    expect(changedFields(parsePatch(patch).hunks)).toEqual([
      { path: 'metadata.annotations.team', before: 'a', after: 'b' },
    ]);
  });

  it('names members of lists and fields below new mappings', () => {
    const patch = '@@ -1,3 +1,5 @@\n spec:\n   items:\n-    - name: a\n+    - name: b\n+  more:\n+    deep: true\n';
    expect(changedFields(parsePatch(patch).hunks)).toEqual([
      { path: 'spec.items[].name', before: 'a', after: 'b' },
      { path: 'spec.more.deep', after: 'true' },
    ]);
  });
});
