/** A description with what the form has to say besides. */
export function withNote(description: string | undefined, note: string): string {
  return description === undefined ? note : `${description} · ${note}`;
}
