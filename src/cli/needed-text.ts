/** Who has to approve: `2, 1 of role dba`. */
export function neededText({
  count,
  roles = {},
}: {
  readonly count: number;
  readonly roles?: Readonly<Record<string, number>>;
}): string {
  return [String(count), ...Object.entries(roles).map(([role, wanted]) => `${wanted} of role ${role}`)].join(', ');
}
