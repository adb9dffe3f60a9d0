import { ERROR_CODES } from '../../src/protocol/error-codes.ts';
import { code, parts, prose, table } from './markdown.ts';

export function errorsPage(): string {
  return parts(
    '# Error codes',
    'Every refusal of either API has the body `{"error": CODE, "message": TEXT, "requestId": ID, "faults": [{"path", "message", "allowed"}]}`. The code is for programs and stays; the message says where the fault is and what would be taken instead. Which operation answers with which stands in [api.md](api.md).',
    table(
      ['Code', 'Status', 'Why', 'What to do'],
      Object.entries(ERROR_CODES).map(([name, { status, cause, remedy }]) => [
        code(name),
        String(status),
        prose(cause),
        prose(remedy),
      ]),
    ),
  );
}
