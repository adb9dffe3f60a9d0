import type { IntentRequest } from '../intent/intent-request.ts';
import { mergeValues } from '../intent/merge-values.ts';
import type { Fault } from '../protocol/app-error.ts';
import { refusal } from '../protocol/parse.ts';
import type { CheckOutcome } from './check-thread.ts';
import type { StoredCatalogEntry } from './store/catalog-entries.ts';
import { checkText, type ValuesChecker } from './values-checker.ts';

/** Values of an intent that their catalog entry's schema must judge before the intent is stored. */
export interface UncheckedValues {
  readonly organizationId: string;
  /** Name of the catalog entry. */
  readonly entry: string;
  /** A `ValuesCheck` as JSON: equal texts have equal verdicts. */
  readonly text: string;
  /** JSON Pointer to the values in the request; default `/values`. */
  readonly at?: string;
}

/**
 * What there is to check of an intent that names a catalog entry.
 *
 * @param isWhole false where it has sealed values of before besides
 */
export function valuesToCheck(
  request: IntentRequest,
  organizationId: string,
  entry: StoredCatalogEntry | undefined,
  isWhole: boolean,
): UncheckedValues | undefined {
  if (entry?.valuesSchema === undefined) return undefined;
  const values = mergeValues(mergeValues(entry.defaultValues, request.values), request.secretValues);
  const text = checkText({ schema: entry.valuesSchema, values, isWhole, isNew: false });
  return { organizationId, entry: entry.name, text };
}

/**
 * Refuses an intent whose values break its catalog entry's `valuesSchema`, or cannot be judged by it.
 *
 * @throws AppError `constraint_violated` with every fault below `at`, or `unavailable`
 */
export async function requireValuesFit(
  checker: Pick<ValuesChecker, 'check'>,
  { organizationId, entry, text, at = '/values' }: UncheckedValues,
): Promise<void> {
  const outcome = await checker.check(organizationId, text);
  if (outcome.state !== 'judged') {
    const message = `cannot be checked by the valuesSchema of catalog entry ${entry}: ${whyOf(outcome)}; mend the entry's schema (PUT /api/v1/catalog/${entry}) or send simpler values`;
    throw refusal([{ path: at, message, ...allowedTime(outcome) }]);
  }
  if (outcome.faults.length > 0) throw refusal(placedAt(at, outcome.faults));
}

/** What keeps a `valuesSchema` from being used, below `/valuesSchema`, and which default values break it, below `/defaultValues`. */
export async function schemaFaults(
  checker: Pick<ValuesChecker, 'check'>,
  organizationId: string,
  { valuesSchema: schema, defaultValues: values = {} }: Partial<StoredCatalogEntry>,
): Promise<readonly Fault[]> {
  if (schema === undefined) return [];
  // Values may be required of each intent, so only what the defaults do have is judged.
  const outcome = await checker.check(organizationId, checkText({ schema, values, isWhole: false, isNew: true }));
  if (outcome.state !== 'judged') {
    const message = `cannot be applied to the default values: ${whyOf(outcome)}; make it simpler, above all its patterns and references`;
    return [{ path: '/valuesSchema', message, ...allowedTime(outcome) }];
  }
  return placedAt('/defaultValues', outcome.faults);
}

/** Of values that stand elsewhere than `/values`. */
function placedAt(at: string, faults: readonly Fault[]): Fault[] {
  return faults.map((fault) => ({ ...fault, path: fault.path.replace(/^\/values(?=\/|$)/, () => at) }));
}

type Unjudged = Exclude<CheckOutcome, { readonly state: 'judged' }>;

function whyOf(outcome: Unjudged): string {
  return outcome.state === 'late' ? `that takes more than ${outcome.limitMs} ms` : outcome.why;
}

function allowedTime(outcome: Unjudged): { readonly allowed?: unknown } {
  return outcome.state === 'late' ? { allowed: { maxMilliseconds: outcome.limitMs } } : {};
}
