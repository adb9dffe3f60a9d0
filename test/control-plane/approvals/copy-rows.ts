import type { RunningControlPlane } from '../running-control-plane.ts';

type Row = Readonly<Record<string, unknown>>;

/** Copies of a row, each with its changes, by one statement: one for each row takes a database in another process long. */
export async function copyRows(
  plane: Pick<RunningControlPlane, 'execute'>,
  table: 'intents' | 'approvals',
  row: Row,
  changes: readonly Readonly<Record<string, string>>[],
): Promise<void> {
  const members = Object.entries(row).filter(
    (member): member is [string, string | number] => typeof member[1] === 'string' || typeof member[1] === 'number',
  );
  const names = members.map(([name]) => name);
  const marks = `(${names.map(() => '?').join(', ')})`;
  await plane.execute(
    `INSERT INTO ${table} (${names.join(', ')}) VALUES ${changes.map(() => marks).join(', ')}`,
    ...changes.flatMap((change) => members.map(([name, value]) => change[name] ?? value)),
  );
}

/** Copies of an intent and of the approval that it asks for, named `<prefix>-<n>`. */
export async function copyApprovals(
  plane: Pick<RunningControlPlane, 'execute'>,
  of: { readonly intent: Row; readonly approval: Row },
  prefix: string,
  count: number,
): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  const intents = names.map((name) => ({ id: `int-${name}`, name, idempotency_key: `int-${name}` }));
  await copyRows(plane, 'intents', of.intent, intents);
  const approvals = names.map((name) => ({
    id: `apr-${name}`,
    intent_id: `int-${name}`,
    ...(of.approval['statement'] === null ? {} : { statement: name, jti: name }),
  }));
  await copyRows(plane, 'approvals', of.approval, approvals);
}
