import { randomUUID } from 'node:crypto';
import { Option, type Command } from 'commander';
import type { Secret } from '../runtime/secret.ts';
import { AdminApiError, AdminClient, type AdminAnswer, type AdminCall, type AdminMethod } from './admin-client.ts';
import type { CliDeps } from './cli-deps.ts';
import { inWords } from './connection-error.ts';
import { durationIn } from './operation-parameters.ts';
import { resolveConnection, type Connection } from './resolve-connection.ts';
import { withRetries } from './retry-call.ts';

/** Of one call; the next repeats it. */
const ONE_CALL_MS = 10_000;

export interface ConnectionOptions {
  readonly server?: string;
  readonly tokenFile?: string;
  readonly context?: string;
  readonly organization?: string;
  /** Seconds: of a call with all its repetitions. */
  readonly requestTimeout?: number;
  /** Of one call. Default: 10 s. */
  readonly timeoutMs?: number;
}

/** What a call needs of a command's surroundings. */
export type CallDeps = Pick<CliDeps, 'env' | 'clock' | 'randomBytes' | 'isQuiet'> & { readonly err?: CliDeps['err'] };

/** The names of the options of `withConnection`, as a command keeps them. */
export const CONNECTION_OPTIONS = ['server', 'tokenFile', 'context', 'organization', 'requestTimeout'] as const;

/** Adds the options of every command that calls the control plane. The token comes by a file: an argument is readable by all. */
export function withConnection(command: Command): Command {
  return command
    .addOption(new Option('--server <url>', 'address of the control plane (or SERVICECTL_SERVER)'))
    .addOption(new Option('--token-file <file>', 'file that holds an admin token (or SERVICECTL_TOKEN_FILE)'))
    .addOption(new Option('--context <name>', 'one of servicectl contexts list (or SERVICECTL_CONTEXT)'))
    .addOption(
      new Option('--organization <name>', 'of those you belong to (or SERVICECTL_ORGANIZATION)').hideHelp(
        command.parent !== null,
      ),
    )
    .addOption(
      new Option('--request-timeout <time>', 'of a call with its repetitions, such as 30s')
        .argParser(durationIn)
        .hideHelp(command.parent !== null),
    );
}

/** One call of the admin API, with failures in words that say what to do. @throws CliError */
export async function callControlPlane<T>(
  options: ConnectionOptions,
  deps: CallDeps,
  method: AdminMethod,
  path: string,
  body?: unknown,
): Promise<T> {
  return (await sendToControlPlane<T>(options, deps, { method, path, body })).body;
}

/**
 * As `callControlPlane`, with the answer's headers. Every POST has a key, so that one whose answer was lost is sent again
 * without being done twice.
 */
export async function sendToControlPlane<T>(
  options: ConnectionOptions,
  deps: CallDeps,
  call: AdminCall,
): Promise<AdminAnswer<T>> {
  const connection = resolveConnection(options, { ...deps, err: deps.err ?? (() => undefined) });
  const { organization, baseUrl } = connection;
  const key = call.method === 'POST' ? { 'idempotency-key': randomUUID() } : {};
  const keyed: AdminCall = { ...call, headers: { ...key, ...call.headers } };
  const client = (token: Secret, leftMs: number): AdminClient =>
    new AdminClient({
      baseUrl,
      token,
      ...(organization === undefined ? {} : { organization }),
      timeoutMs: Math.min(options.timeoutMs ?? ONE_CALL_MS, leftMs),
    });
  const token = await connection.token();
  try {
    return await withRetries(
      options,
      deps,
      keyed,
      async (leftMs) => await asSomebody<T>(connection, keyed, { client: (fresh) => client(fresh, leftMs), token }),
    );
  } catch (error) {
    throw inWords(error, { baseUrl, renewal: connection.renewal, path: call.path });
  }
}

/** A token that has just been ended is renewed once, where it can be. */
async function asSomebody<T>(
  connection: Connection,
  call: AdminCall,
  { client, token }: { readonly client: (token: Secret) => AdminClient; readonly token: Secret },
): Promise<AdminAnswer<T>> {
  try {
    return await client(token).send<T>(call);
  } catch (error) {
    if (!(error instanceof AdminApiError) || error.status !== 401 || !connection.canRenew) throw error;
    return await client(await connection.token(true)).send<T>(call);
  }
}
