import { AUDIT_KINDS } from '../../src/control-plane/store/audit-kinds.ts';
import { EVENT_KINDS } from '../../src/protocol/event.ts';
import { code, list, parts, prose, table } from './markdown.ts';

export function auditPage(): string {
  return parts(
    '# Audit kinds',
    'What the audit log records, by the kind that `servicectl audit --kind` and `GET /api/v1/audit?kind=` filter by. An entry is written in the same transaction as what it records.',
    '## What people, programs and the control plane did',
    table(
      ['Kind', 'What happened'],
      Object.entries(AUDIT_KINDS).map(([kind, meaning]) => [code(kind), prose(meaning)]),
    ),
    '## What operators reported',
    list(
      Object.entries(EVENT_KINDS)
        .filter(([, { audit }]) => audit !== 'never')
        .map(([kind, { audit }]) => `${code(kind)}: ${audit === 'always' ? 'each' : 'where it is of weight'}`),
    ),
  );
}
