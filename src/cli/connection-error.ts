import { AdminApiError } from './admin-client.ts';
import { CliError, EXIT } from './cli-error.ts';
import { BodyTooLongError } from '../runtime/read-bounded.ts';
import { RedirectError } from './no-redirect.ts';

/** What a call that failed says, and what to do next. */
export function inWords(
  error: unknown,
  call: { readonly baseUrl: string; readonly renewal: string; readonly path: string },
): CliError {
  if (error instanceof CliError) return error;
  const { baseUrl, renewal, path } = call;
  if (error instanceof AdminApiError) {
    const id = error.requestId === '' ? '' : `, request ${error.requestId}`;
    return new CliError(EXIT.failed, `${error.message} (${error.code}${id})`, nextOf(error, renewal, path), {
      cause: error,
    });
  }
  if (error instanceof RedirectError) {
    const next = `Nothing is sent there. If that is the control plane, give its address: --server URL, or servicectl login URL`;
    return new CliError(EXIT.failed, `${baseUrl} names another address: ${error.location}`, next, { cause: error });
  }
  if (error instanceof BodyTooLongError) {
    return new CliError(EXIT.failed, `${baseUrl} answers ${error.message}, which nothing of a control plane has`);
  }
  const isSyntax = error instanceof SyntaxError;
  const what = isSyntax ? 'answers something that is not of a control plane' : `does not answer (${reasonOf(error)})`;
  return new CliError(EXIT.failed, `${baseUrl} ${what}`, `See whether it is there: curl ${baseUrl}/healthz`, {
    cause: error,
  });
}

/** Nobody waits for longer in front of a terminal. */
const LONG_SECONDS = 600;

function nextOf({ status, retryAfter }: AdminApiError, renewal: string, path: string): string | undefined {
  if (status === 401) return renewal;
  if (status === 403) return 'See who you are and what you may do: servicectl whoami';
  if (status === 404) return whereToLook(path);
  if (status === 412) return 'Somebody changed it meanwhile: look at it again, then repeat the command';
  if (retryAfter !== undefined && retryAfter > LONG_SECONDS)
    return `It asks to be left alone for ${retryAfter} s: come back later`;
  if (retryAfter !== undefined)
    return `Try again in ${retryAfter} s, or give it longer: --request-timeout ${retryAfter + 30}s`;
  return undefined;
}

const LISTS: readonly (readonly [path: string, what: string])[] = [
  ['/commit-signing-keys', 'keys there are: servicectl commit-signing-keys list'],
  ['/operation-templates', 'templates there are: servicectl templates list'],
  ['/operations', 'operations there are: servicectl operations list'],
  ['/intents', 'intents there are: servicectl intents list'],
  ['/jobs', 'jobs there are: servicectl jobs list'],
  ['/saved-filters', 'filters there are: servicectl filters list'],
  ['/repositories', 'repositories there are: servicectl repositories list'],
  ['/catalog', 'entries there are: servicectl catalog list'],
  ['/channel/webhooks', 'webhooks there are: servicectl channel webhooks list'],
  ['/proposals', 'proposals there are: servicectl proposals list --state all'],
  ['/approvals', 'approvals there are: servicectl approvals list --state all'],
  ['/members', 'members there are: servicectl members list'],
  ['/organizations', 'organizations there are: servicectl organizations list'],
  ['/admin-tokens', 'tokens there are: servicectl admin-tokens list'],
  ['', 'clusters there are: servicectl clusters list'],
];

/** What was not found is in no list; the list says what is. */
function whereToLook(path: string): string {
  const [, repository] = /^\/repositories\/([^/]+)\/(?:commits\/|diff|blame)/.exec(path) ?? [];
  if (repository !== undefined) {
    return `See what is there: servicectl git log -r ${decodeURIComponent(repository)}; other repositories: servicectl repositories list`;
  }
  return `See which ${LISTS.find(([prefix]) => path.startsWith(prefix))?.[1] ?? ''}`;
}

/** Of a connection that came to nothing, its code or what it says. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return 'unknown error';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}
