/** What was found of a way to a cluster. */
export interface ShownProbe {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
  readonly warning?: string;
}

/** Name, result and what to know of it; the same in a plan, in a switch and of a credential. */
export function probeRows(probes: readonly ShownProbe[]): string[][] {
  return probes.map(({ name, ok, message, warning }) => [
    name,
    ok ? (warning === undefined ? 'ok' : 'warning') : 'not ok',
    warning ?? message,
  ]);
}
