import { readFileSync, statSync } from 'node:fs';
import { Secret } from '../runtime/secret.ts';
import { configFile, readConfig, type Config, type Context } from './cli-config.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { ConnectionOptions } from './connection.ts';
import { freshToken } from './oidc-session.ts';

export interface Connection {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly organization?: string;
  /** What to do when the token is not taken. */
  readonly renewal: string;
  /** @param isRefused with another than the last one, which was not taken, where there can be one */
  readonly token: (isRefused?: boolean) => Promise<Secret>;
  readonly canRenew: boolean;
}

interface NamedContext extends Context {
  readonly name: string;
}

const HOW =
  'Log in: servicectl login URL; or give --server and --token-file, or set SERVICECTL_SERVER and SERVICECTL_TOKEN_FILE';

type ConnectDeps = Pick<CliDeps, 'env' | 'clock' | 'err'>;

/**
 * Which control plane, and as whom. Options come before the environment, and both before the current context; a context's
 * credential is sent to its own server alone.
 *
 * @throws CliError
 */
export function resolveConnection(options: ConnectionOptions, deps: ConnectDeps): Connection {
  const config = readConfig(deps);
  const baseUrl = serverOf(options, config, deps);
  const context = contextOf(options, config, deps, baseUrl);
  const organization =
    options.organization ?? fromEnvironment(deps, 'SERVICECTL_ORGANIZATION') ?? context?.organization;
  const named = organization === undefined ? {} : { organization };
  // A context that was named in this command line is nearer than what the shell has set for all.
  const set = options.context === undefined ? fromEnvironment(deps, 'SERVICECTL_TOKEN_FILE') : undefined;
  const tokenFile = options.tokenFile ?? set;
  if (tokenFile !== undefined) return { baseUrl, ...named, ...fileCredential(tokenFile) };
  if (context === undefined) throw new CliError(EXIT.usage, 'there is no admin token', HOW);
  return { baseUrl, ...named, ...credentialOf(context, deps) };
}

/** The context that counts, where it is not all said by options and environment. @throws CliError for one that is not there */
export function currentContext(
  options: Pick<ConnectionOptions, 'context'>,
  config: Config,
  deps: Pick<CliDeps, 'env'>,
): NamedContext | undefined {
  const name = options.context ?? fromEnvironment(deps, 'SERVICECTL_CONTEXT') ?? config.currentContext;
  if (name === undefined) return undefined;
  const context = config.contexts[name];
  if (context !== undefined) return { name, ...context };
  throw new CliError(EXIT.usage, `there is no context ${name}`, 'See which there are: servicectl contexts list');
}

export function plainUrl(url: string): string {
  return url.replace(/\/+$/, '');
}

function serverOf(options: ConnectionOptions, config: Config, deps: ConnectDeps): string {
  const set = options.context === undefined ? fromEnvironment(deps, 'SERVICECTL_SERVER') : undefined;
  const given = options.server ?? set ?? currentContext(options, config, deps)?.server;
  if (given === undefined || given === '') {
    throw new CliError(EXIT.usage, 'the address of the control plane is not known', HOW);
  }
  return requireUrl(given);
}

/** @throws CliError */
export function requireUrl(url: string): string {
  if (/^https?:\/\//.test(url) && URL.canParse(url)) return plainUrl(url);
  throw new CliError(EXIT.usage, `the address of the control plane is not http:// or https://: ${url}`, HOW);
}

/** The chosen one, or another of the same server; never one of another server. */
function contextOf(
  options: ConnectionOptions,
  config: Config,
  deps: ConnectDeps,
  baseUrl: string,
): NamedContext | undefined {
  const chosen = currentContext(options, config, deps);
  if (chosen !== undefined && plainUrl(chosen.server) === baseUrl) return chosen;
  const [name, context] = Object.entries(config.contexts).find(([, { server }]) => plainUrl(server) === baseUrl) ?? [];
  return name === undefined || context === undefined ? undefined : { name, ...context };
}

function credentialOf(context: NamedContext, deps: ConnectDeps): Omit<Connection, 'baseUrl'> {
  const { name, server, tokenFile, token, oidc } = context;
  const login = `servicectl login ${plainUrl(server)} --name ${name}`;
  if (tokenFile !== undefined) return fileCredential(tokenFile);
  warnOfReaders(configFile(deps), deps);
  if (token !== undefined) {
    return {
      renewal: `Log in again: ${login}`,
      canRenew: false,
      token: async () => await Promise.resolve(new Secret(token)),
    };
  }
  if (oidc === undefined) throw new CliError(EXIT.usage, `nobody is logged in to ${name}`, `Log in: ${login}`);
  return {
    renewal: `Log in again: ${login} --oidc`,
    canRenew: oidc.refreshToken !== undefined,
    token: async (isRefused) =>
      await freshToken(name, deps, { isRefused: isRefused === true, login: `${login} --oidc` }),
  };
}

function fileCredential(file: string): Omit<Connection, 'baseUrl'> {
  return {
    renewal: `Put an admin token of this control plane into ${file}`,
    canRenew: false,
    token: async () => await Promise.resolve(readTokenFile(file)),
  };
}

/** @throws CliError */
export function readTokenFile(file: string): Secret {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new CliError(EXIT.usage, `the token file ${file} cannot be read (${code})`, HOW, { cause: error });
  }
  return tokenIn(text, `the token file ${file}`);
}

/** @throws CliError for a text that is no token: a header cannot hold anything else, and its error would quote the value */
export function tokenIn(text: string, where: string): Secret {
  const token = text.trim();
  if (/^[\u0021-\u007e]+$/.test(token)) return new Secret(token);
  throw new CliError(EXIT.usage, `${where} does not hold an admin token`, 'Put the token alone into it');
}

function warnOfReaders(file: string | undefined, { err }: ConnectDeps): void {
  if (file === undefined) return;
  const { mode } = statSync(file);
  if ((mode & 0o077) === 0) return;
  err(`servicectl: WARNING: others can read ${file}, which holds a token: chmod 600 ${file}\n`);
}

function fromEnvironment({ env }: Pick<CliDeps, 'env'>, name: string): string | undefined {
  const value = env[name];
  return value === '' ? undefined : value;
}
