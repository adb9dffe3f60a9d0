import type { WriteOptions } from './object-writer.ts';
import type { PatchType } from './request-body.ts';
import { invalid, type FieldFault } from './status-error.ts';

const MAX_MANAGER_LENGTH = 128;
/** Letters, marks, numbers, punctuation, symbols and the plain space: Go's unicode.IsPrint. */
const PRINTABLE = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions';

/** @throws StatusError 422 */
export function checkDryRun(kind: OptionsKind, dryRun: readonly unknown[]): void {
  if (dryRun.every((value) => value === 'All')) return;
  const shown = `[]string{${dryRun.map((value) => JSON.stringify(value)).join(', ')}}`;
  throw invalid({ group: 'meta.k8s.io', kind }, '', [
    { reason: 'FieldValueNotSupported', field: 'dryRun', shown, detail: 'supported values: "All"' },
  ]);
}

/** `dryRun` and `fieldManager` of a write; without the latter the User-Agent up to its first slash. @throws StatusError 422 */
export function writeOptionsOf(kind: OptionsKind, query: URLSearchParams, userAgent: string | undefined): WriteOptions {
  const dryRun = query.getAll('dryRun').filter((value) => value !== '');
  checkDryRun(kind, dryRun);
  const manager = query.get('fieldManager') ?? '';
  if (manager.length > MAX_MANAGER_LENGTH) {
    const detail = `may not be more than ${MAX_MANAGER_LENGTH} bytes`;
    throw invalid({ group: 'meta.k8s.io', kind }, '', [{ reason: 'FieldValueTooLong', field: 'fieldManager', detail }]);
  }
  const characters = Array.from(manager);
  const at = characters.findIndex((character) => !PRINTABLE.test(character));
  if (at >= 0) {
    const code = (characters[at]?.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    const detail = `invalid character U+${code} (at position ${at})`;
    throw invalid({ group: 'meta.k8s.io', kind }, '', [
      { reason: 'FieldValueInvalid', field: 'fieldManager', value: manager, detail },
    ]);
  }
  const agent = (userAgent ?? '').split('/')[0]?.slice(0, MAX_MANAGER_LENGTH) ?? '';
  const sent = { ...(dryRun.length === 0 ? {} : { dryRun }), ...(manager === '' ? {} : { fieldManager: manager }) };
  return { manager: manager || agent || 'unknown', dryRun: dryRun.length > 0, sent };
}

/** `force` belongs to applies, which must say who they are. @throws StatusError 422 */
export function checkPatchOptions(query: URLSearchParams, type: PatchType): { readonly force: boolean } {
  const force = query.get('force');
  const faults: FieldFault[] = [];
  if (type === 'apply' && (query.get('fieldManager') ?? '') === '') {
    faults.push({ reason: 'FieldValueRequired', field: 'fieldManager', detail: 'is required for apply patch' });
  }
  if (type !== 'apply' && force !== null) {
    faults.push({ reason: 'FieldValueForbidden', field: 'force', detail: 'may not be specified for non-apply patch' });
  }
  if (faults.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', faults);
  return { force: force === 'true' || force === '1' };
}
