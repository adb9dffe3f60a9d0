/** `2026-01-02T03:04:05Z`: metadata times have whole seconds. */
export function rfc3339(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}
