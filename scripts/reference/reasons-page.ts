import { readFileSync } from 'node:fs';
import {
  APPLICATION_INSTANCE_MEANINGS,
  CLUSTER_MEANINGS,
  OPERATION_MEANINGS,
} from '../../src/resources/condition-meanings.ts';
import { REASON_REMEDIES } from '../../src/resources/reason-remedies.ts';
import { Reason } from '../../src/resources/reasons.ts';
import { code, parts, prose, table } from './markdown.ts';

const SOURCE = new URL('../../src/resources/reasons.ts', import.meta.url);

interface Group {
  readonly title: string;
  readonly reasons: readonly { readonly name: Reason; readonly meaning: string }[];
}

/** Every condition and every reason, with what the comment above its constant says and what to do about it. */
export function reasonsPage(): string {
  return parts(
    '# Conditions and reasons',
    'A condition says that something holds (True), does not (False), or is not known; its reason says why, in one word that stays the same, and its message says it for people. What to do about the conditions of a Cluster and of an Operation as a whole says [operations.md](../operations.md#conditions-of-the-cluster). Where nothing stands under "What to do", all is well, it is under way, or it is tried again.',
    '## Conditions',
    conditions('ApplicationInstance', APPLICATION_INSTANCE_MEANINGS),
    conditions('Operation', OPERATION_MEANINGS),
    conditions('Cluster', CLUSTER_MEANINGS),
    '## Reasons',
    ...groups().flatMap(({ title, reasons }) => [
      `### ${title}`,
      table(
        ['Reason', 'What it says', 'What to do'],
        reasons.map(({ name, meaning }) => [code(name), prose(meaning), prose(REASON_REMEDIES[name] ?? '')]),
      ),
    ]),
  );
}

function conditions(kind: string, meanings: Readonly<Record<string, string>>): string {
  const rows = Object.entries(meanings).map(([type, meaning]) => [code(type), prose(meaning)]);
  return parts(`### Conditions of ${kind}`, table(['Condition', 'True'], rows));
}

/** As the constants stand in their file: below comments that name a group, each below its own. */
function groups(): Group[] {
  const found: { title: string; reasons: { name: Reason; meaning: string }[] }[] = [];
  const source = readFileSync(SOURCE, 'utf8');
  for (const [, title, meaning, name] of source.matchAll(/^ {2}\/\/ (.+)\.$|^ {2}\/\*\* (.+) \*\/\n {2}(\w+): '/gm)) {
    if (title !== undefined) found.push({ title: title.replaceAll('`', ''), reasons: [] });
    else found.at(-1)?.reasons.push({ name: name as Reason, meaning: meaning ?? '' });
  }
  const named = found.flatMap(({ reasons }) => reasons.map(({ name }) => name));
  const missing = Object.keys(Reason).filter((name) => !named.includes(name as Reason));
  if (missing.length > 0) throw new Error(`${SOURCE.pathname} has reasons in another form: ${missing.join(', ')}`);
  return found;
}
