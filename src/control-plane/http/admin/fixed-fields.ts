import type { Fault } from '../../../protocol/app-error.ts';
import { refusal } from '../../../protocol/parse.ts';

/** What a change of a cluster's record does not take. Said to be unknown, it would look like a typing error. */
const FIXED_FIELDS: Readonly<Record<string, string>> = {
  id: 'cannot be changed: it is what credentials and reports name the cluster by',
  slug: "cannot be changed: it names the cluster's directory in Git, which outlives its record",
  connectivityMode:
    'is changed by a switch, which hands the objects over: POST /clusters/{id}/mode (servicectl clusters mode)',
};

/** The same of its member `git`. */
const FIXED_GIT_FIELDS: Readonly<Record<string, string>> = {
  repository:
    'is kept for a stay in gitops mode: a switch to that mode from another one takes it (POST /clusters/{id}/mode)',
  url: "is its repository's; see /repositories",
  branch: "is its repository's; see /repositories",
  path: "follows from its slug and the repository's layout",
};

/** Before a change of a cluster is validated. @throws AppError `constraint_violated` */
export async function refuseFixedFields({ body }: { readonly body: unknown }): Promise<void> {
  if (typeof body !== 'object' || body === null) return;
  const git: unknown = Object.hasOwn(body, 'git') ? (body as { git: unknown }).git : undefined;
  const faults = [...faultsIn(body, FIXED_FIELDS, ''), ...faultsIn(git, FIXED_GIT_FIELDS, '/git')];
  if (faults.length > 0) throw refusal(faults);
}

function faultsIn(value: unknown, fixed: Readonly<Record<string, string>>, at: string): Fault[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(fixed).flatMap(([name, message]): Fault[] =>
    Object.hasOwn(value, name) ? [{ path: `${at}/${name}`, message }] : [],
  );
}
