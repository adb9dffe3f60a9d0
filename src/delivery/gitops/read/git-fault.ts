/**
 * Why git did not do what it was asked.
 *
 * - `unauthorized`: the host does not take the credential, or does not show the repository to it (many answer 404 then)
 * - `unreachable`: no answer, a broken one, a host that fails
 * - `no_branch`: the repository is there, the branch is not
 * - `misconfigured`: the address, branch or directory cannot be one; a person must correct it
 * - `untrusted`: what led to the fetched commit was not signed by those whose signatures count
 * - `broken`: anything else, which is likely the local copy; a fresh clone is worth a try
 */
export type GitFaultKind = 'unauthorized' | 'unreachable' | 'no_branch' | 'misconfigured' | 'untrusted' | 'broken';

export class GitFault extends Error {
  readonly kind: GitFaultKind;

  constructor(kind: GitFaultKind, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'GitFault';
    this.kind = kind;
  }
}

/** What git says (in the C locale), most telling first. */
const SIGNS: readonly (readonly [RegExp, GitFaultKind])[] = [
  [/Host key verification failed|host key is known for/i, 'misconfigured'],
  [
    /Authentication failed|Permission denied \(|could not read (?:Username|Password)|returned error: 40[134]\b|repository .* not found/i,
    'unauthorized',
  ],
  [/couldn't find remote ref|Remote branch .* not found/i, 'no_branch'],
  [
    /unable to access|Could not resolve|Failed to connect|returned error: \d{3}|early EOF|RPC failed|hung up|timed? ?out|reset by peer|unexpected disconnect|redirect/i,
    'unreachable',
  ],
  [/does not appear to be a git repository|Could not read from remote/i, 'unreachable'],
];

/** ssh's own line says more than git's about it. */
const SSH_WORDS = /^Host key verification failed|Permission denied \(|host key is known for/i;

const MAX_MESSAGE = 300;

/** A fault from what git printed. Its message is one line of git's own, without the noise around it. */
export function gitFaultOf(error: unknown): GitFault {
  if (error instanceof GitFault) return error;
  const text = error instanceof Error ? error.message : String(error);
  const kind = SIGNS.find(([sign]) => sign.test(text))?.[1] ?? 'broken';
  const lines = text.split('\n').map((line) => line.trim());
  const telling =
    lines.find((line) => SSH_WORDS.test(line)) ??
    lines.find((line) => /^(fatal|error|remote):/i.test(line)) ??
    lines.find((line) => line !== '');
  return new GitFault(kind, (telling ?? 'git failed').slice(0, MAX_MESSAGE), { cause: error });
}
