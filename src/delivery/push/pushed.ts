/** What became of one intent at the API server. */
export type Pushed =
  /** `isAbsent`: there was nothing to delete. */
  | { readonly state: 'delivered'; readonly isAbsent?: true }
  | { readonly state: 'refused'; readonly reason: string; readonly message: string }
  /** `alone`: the API server works, and this object has to wait; else none of the cluster's can be written now. */
  | { readonly state: 'retry'; readonly message: string; readonly alone?: true };

export const DELIVERED: Pushed = { state: 'delivered' };

export function refused(reason: string, message: string): Pushed {
  return { state: 'refused', reason, message };
}

/** For what stands against this object alone, and may pass. */
export function waits(message: string): Pushed {
  return { state: 'retry', message, alone: true };
}
