import type { Fault } from '../../../protocol/app-error.ts';
import { refusal } from '../../../protocol/parse.ts';

/** What a cluster is created with and keeps. Said to be unknown, it would look like a typing error. */
const FIXED_FIELDS: Readonly<Record<string, string>> = {
  id: 'cannot be changed: it is what credentials and reports name the cluster by',
  slug: "cannot be changed: it names the cluster's directory in Git, which outlives its record",
  connectivityMode: 'cannot be changed yet: a cluster keeps the mode that it was created with',
  git: 'cannot be changed yet: a cluster keeps the repository that it was created with',
};

/** Before a change of a cluster is validated. @throws AppError `constraint_violated` */
export async function refuseFixedFields({ body }: { readonly body: unknown }): Promise<void> {
  if (typeof body !== 'object' || body === null) return;
  const faults = Object.entries(FIXED_FIELDS).flatMap(([name, message]): Fault[] =>
    Object.hasOwn(body, name) ? [{ path: `/${name}`, message }] : [],
  );
  if (faults.length > 0) throw refusal(faults);
}
