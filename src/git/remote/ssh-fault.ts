import type { Answered } from '../receive-pack.ts';
import type { Rejection } from '../rejection.ts';

/**
 * What ssh and the hosts behind it say instead of an advertisement, most telling first. GitHub: "The key you are
 * authenticating with has been marked as read only", "Repository not found". GitLab: "This deploy key does not have write
 * access", "The project you were looking for could not be found". Gitea and Forgejo: "Unauthorized", "not authorized to
 * write". Plain git: "does not appear to be a git repository".
 */
const SIGNS: readonly (readonly [RegExp, Rejection, string])[] = [
  [
    /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED|No .* host key is known/i,
    'unavailable',
    'the host shows a key that is not among knownHosts: check it, and set the right lines',
  ],
  [/Permission denied|Too many authentication failures/i, 'auth', 'the host does not take the deploy key'],
  [
    /invalid format|error in libcrypto|bad permissions|incorrect passphrase|Load key/i,
    'auth',
    'the deploy key cannot be read: set a private key as PEM, without a passphrase',
  ],
  [
    /read[- ]only|write access|not allowed to push|unauthorized|not authorized|access denied/i,
    'auth',
    'the deploy key may not write',
  ],
  [
    /not found|could not be found|does not appear to be a git repository|does not exist|not accessible/i,
    'auth',
    'the host shows no such repository to the deploy key',
  ],
  [/Could not resolve|name or service not known/i, 'unavailable', "the host's name does not resolve"],
  [/timed out/i, 'unavailable', 'the host did not answer in time'],
  [/Connection refused|No route|unreachable|reset by/i, 'unavailable', 'the host cannot be reached'],
  [/ENOENT/, 'unavailable', 'there is no ssh on this machine: install an OpenSSH client'],
];

/** ssh's and the host's own words; they never hold a key. */
export function sshFaultOf(text: string, code: number | null): Answered<never> {
  const said = text.replaceAll(/\/\S*service-git-\S*/g, '…').trim();
  const words = said === '' ? `ssh ended (${code === null ? 'killed' : `exit ${code}`})` : said.slice(-500);
  for (const [sign, rejection, meaning] of SIGNS) {
    if (sign.test(said)) return { state: 'rejected', rejection, message: `${meaning}: ${words}` };
  }
  return { state: 'rejected', rejection: 'unavailable', message: `the Git host cannot be used over ssh: ${words}` };
}
