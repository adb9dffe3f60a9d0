export const ENDS: readonly string[] = [];
export const AUDIT: readonly string[] = [];
export const CHANNEL: readonly string[] = [];
