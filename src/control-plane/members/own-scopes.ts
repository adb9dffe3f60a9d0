import type { Scope } from '../access.ts';
import { AccessRefusedError } from '../access-refused.ts';
import type { AdminIdentity } from '../store/admin-tokens.ts';

/**
 * Nobody gives, or takes over, more than he or she has.
 *
 * @param what of whom these are, such as `member anna`
 * @throws AccessRefusedError
 */
export function refuseMoreThanOwn(admin: AdminIdentity, scopes: ReadonlySet<Scope>, what: string): void {
  const more = [...scopes].filter((scope) => !admin.scopes.has(scope));
  if (more.length === 0) return;
  throw new AccessRefusedError(
    `${what} could do more than you: ${more.join(', ')}. Nobody gives or changes what goes beyond his or her own scopes (${[...admin.scopes].join(', ')})`,
  );
}

/** Without repetitions, in one order, as it is stored. */
export function listText(names: readonly string[]): string {
  return JSON.stringify([...new Set(names)].sort());
}
