/** Before anything is applied: an alias is not known to a shell that reads a script. */
export const NEEDS_SERVICECTL =
  "command -v servicectl >/dev/null || { echo 'servicectl is not a program that this shell finds in PATH' >&2; exit 1; }";

/** What stands before a command that reads the registration token: it goes from one program to the other, seen by nobody. */
export function tokenPipe(slug: string, command: string): string {
  return command.includes('/dev/stdin') ? `servicectl clusters registration-token ${slug} | ` : '';
}
