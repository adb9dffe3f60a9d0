import { readFileSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { Secret } from '../runtime/secret.ts';
import { AdminApiError, AdminClient } from './admin-client.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { CliDeps } from './cli-deps.ts';

export interface ConnectionOptions {
  readonly server?: string;
  readonly tokenFile?: string;
  /** Of one call. Default: the client's. */
  readonly timeoutMs?: number;
}

const HOW = 'Give --server and --token-file, or set SERVICECTL_SERVER and SERVICECTL_TOKEN_FILE';

/** Adds the options of every command that calls the control plane. The token comes by a file: an argument is readable by all. */
export function withConnection(command: Command): Command {
  return command
    .addOption(new Option('--server <url>', 'address of the control plane (or SERVICECTL_SERVER)'))
    .addOption(new Option('--token-file <file>', 'file that holds an admin token (or SERVICECTL_TOKEN_FILE)'));
}

/** One call of the admin API, with failures in words that say what to do. @throws CliError */
export async function callControlPlane<T>(
  options: ConnectionOptions,
  deps: Pick<CliDeps, 'env'>,
  ...[method, path, body]: Parameters<AdminClient['call']>
): Promise<T> {
  const baseUrl = options.server ?? deps.env['SERVICECTL_SERVER'];
  const tokenFile = options.tokenFile ?? deps.env['SERVICECTL_TOKEN_FILE'];
  if (baseUrl === undefined || baseUrl === '') {
    throw new CliError(EXIT.usage, 'the address of the control plane is not known', HOW);
  }
  if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new CliError(EXIT.usage, `the address of the control plane is not http:// or https://: ${baseUrl}`, HOW);
  }
  if (tokenFile === undefined || tokenFile === '') throw new CliError(EXIT.usage, 'there is no admin token', HOW);
  const timeout = options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs };
  const client = new AdminClient({ baseUrl: baseUrl.replace(/\/+$/, ''), token: readToken(tokenFile), ...timeout });
  try {
    return await client.call<T>(method, path, body);
  } catch (error) {
    throw inWords(error, { baseUrl, tokenFile, path });
  }
}

function readToken(file: string): Secret {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new CliError(EXIT.usage, `the token file ${file} cannot be read (${code})`, HOW, { cause: error });
  }
  // A header cannot hold anything else, and its error would quote the value.
  if (!/^[\u0021-\u007e]+$/.test(text)) {
    throw new CliError(
      EXIT.usage,
      `the token file ${file} does not hold an admin token`,
      'Put the token alone into it',
    );
  }
  return new Secret(text);
}

function inWords(
  error: unknown,
  call: { readonly baseUrl: string; readonly tokenFile: string; readonly path: string },
): CliError {
  const { baseUrl, tokenFile, path } = call;
  if (error instanceof AdminApiError) {
    const next =
      error.status === 401
        ? `Put an admin token of this control plane into ${tokenFile}`
        : error.status === 404
          ? whereToLook(path)
          : undefined;
    const id = error.requestId === '' ? '' : `, request ${error.requestId}`;
    return new CliError(EXIT.failed, `${error.message} (${error.code}${id})`, next, { cause: error });
  }
  const isSyntax = error instanceof SyntaxError;
  const what = isSyntax ? 'answers something that is not of a control plane' : `does not answer (${reasonOf(error)})`;
  return new CliError(EXIT.failed, `${baseUrl} ${what}`, `See whether it is there: curl ${baseUrl}/healthz`, {
    cause: error,
  });
}

const LISTS: readonly (readonly [path: string, what: string])[] = [
  ['/commit-signing-keys', 'keys there are: servicectl commit-signing-keys list'],
  ['/operation-templates', 'templates there are: servicectl templates list'],
  ['/operations', 'operations there are: servicectl operations list'],
  ['/intents', 'intents have commits: servicectl git log --cluster CLUSTER'],
  ['/repositories', 'repositories there are: servicectl repositories list'],
  ['/catalog', 'entries there are: servicectl catalog list'],
  ['/channel/webhooks', 'webhooks there are: servicectl channel webhooks list'],
  ['/proposals', 'proposals there are: servicectl proposals list --state all'],
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

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return 'unknown error';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}
