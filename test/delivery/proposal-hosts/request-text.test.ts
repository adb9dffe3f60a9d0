import fc from 'fast-check';
import { expect, test } from 'vitest';
import { noteText, requestText } from '../../../src/delivery/gitops/proposal-hosts/request-text.ts';

const SUBJECT = {
  title: 'prod-eu: update shop/podinfo 6.5.0 → 6.6.1',
  reason: undefined,
  intentId: 'int_1',
  author: 'maria@example.test',
  cluster: 'prod-eu',
  revision: 1,
  pageUrl: 'https://service.example.test/proposals/prp_1',
};

test('says who asked, for which cluster, why, and where more is', () => {
  const { title, body } = requestText({ ...SUBJECT, reason: 'The CVE of 6.5.0.\nSee the ticket.' });
  expect(title).toBe('prod-eu: update shop/podinfo 6.5.0 → 6.6.1');
  expect(body).toBe(
    [
      'Asked for by `maria@example.test` for the cluster `prod-eu`, intent `int_1`, rendered once.',
      '',
      'The reason that was given:',
      '',
      '```text',
      '| The CVE of 6.5.0.',
      '| See the ticket.',
      '```',
      '',
      '[Diff, approvals and history](https://service.example.test/proposals/prp_1)',
      '',
      'Merge it as it is: by a merge commit, squashed or rebased. A file that is changed here is not what was asked for, and the intent then ends as failed.',
    ].join('\n'),
  );
});

test.each(['Draft', 'WIP', 'wip', '[Draft] x'])('a cluster called %s makes no draft of it', (slug) => {
  const { title } = requestText({ ...SUBJECT, title: `${slug}: install shop/podinfo` });
  expect(title.startsWith('cluster ')).toBe(true);
});

test('no text of a person mentions people, closes issues, commands the host or ends its block', () => {
  const hostile = [
    '```',
    '/close',
    '/merge',
    'closes #12',
    '@everyone',
    '````\n/approve',
    '![x](https://e.test/t.png)',
    '<b>',
    '\r/lock',
  ];
  const text = fc.array(fc.oneof(fc.constantFrom(...hostile), fc.string())).map((parts) => parts.join('\n'));
  fc.assert(
    fc.property(text, text, (reason, name) => {
      const { title, body } = requestText({ ...SUBJECT, reason, author: name, title: name });
      expect(title).not.toMatch(/[\n\r]|[@#!]\w/);
      const lines = [...body.split('\n'), ...noteText('Rejected by somebody.', reason).split('\n')];
      expect(lines.filter((line) => line.startsWith('/'))).toEqual([]);
      const outside = lines.filter((line) => !line.startsWith('| ')).map((line) => line.replace(/`[^`]+`/g, ''));
      for (const line of outside.filter((line) => !line.startsWith('```'))) expect(line).not.toMatch(/[@#<]/);
      // Opened and closed once for each text, and by us.
      expect(lines.filter((line) => line.startsWith('```')).length % 2).toBe(0);
    }),
  );
});
