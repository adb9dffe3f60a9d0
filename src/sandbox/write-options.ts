import type { WriteOptions } from './object-writer.ts';
import type { PatchType } from './request-body.ts';
import { badRequest, invalid, type FieldFault } from './status-error.ts';

const MAX_MANAGER_LENGTH = 128;

/** `dryRun` and `fieldManager` of a write; without the latter the User-Agent up to its first slash. @throws StatusError 400, 422 */
export function writeOptionsOf(query: URLSearchParams, userAgent: string | undefined): WriteOptions {
  const dryRun = query.getAll('dryRun').filter((value) => value !== '');
  if (dryRun.some((value) => value !== 'All')) throw badRequest(`Invalid value: ${JSON.stringify(dryRun)}: dryRun`);
  const manager = query.get('fieldManager') ?? '';
  if (manager.length > MAX_MANAGER_LENGTH) {
    const detail = `may not be more than ${MAX_MANAGER_LENGTH} bytes`;
    throw invalid({ group: 'meta.k8s.io', kind: 'UpdateOptions' }, '', [
      { reason: 'FieldValueTooLong', field: 'fieldManager', detail },
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
