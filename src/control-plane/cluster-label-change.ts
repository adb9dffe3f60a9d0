import { refusal } from '../protocol/parse.ts';
import { LABEL_NAME_PATTERN, LABEL_VALUE_PATTERN } from './label-selector.ts';
import type { Labels } from './store/cluster-labels.ts';

const MAX_LABELS = 32;
const NAME = new RegExp(LABEL_NAME_PATTERN);
const VALUE = new RegExp(LABEL_VALUE_PATTERN);

/**
 * The labels after a change, as a merge patch: what is not named stays, null takes a label away.
 *
 * @throws AppError `constraint_violated` that names every label that Kubernetes would not take either
 */
export function changeLabels(labels: Labels, change: Readonly<Record<string, string | null>>): Labels {
  const faults = Object.entries(change).flatMap(([name, value]) => {
    const path = `/labels/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (!NAME.test(name)) {
      const message =
        'is no name of a label: up to 63 letters, digits, ".", "_" and "-", with a letter or digit at both ends, and before it, if anything, a domain and "/", like team or example.com/team';
      return [{ path, message }];
    }
    if (value === null || VALUE.test(value)) return [];
    const message =
      'is no value of a label: up to 63 letters, digits, ".", "_" and "-", with a letter or digit at both ends, or nothing';
    return [{ path, message }];
  });
  if (faults.length > 0) throw refusal(faults);
  const merged = Object.entries({ ...labels, ...change }).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  );
  if (merged.length > MAX_LABELS) {
    throw refusal([
      { path: '/labels', message: `would be ${merged.length} labels; a cluster has ${MAX_LABELS} at the most` },
    ]);
  }
  return Object.fromEntries(merged);
}
