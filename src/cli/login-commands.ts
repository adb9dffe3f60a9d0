import { resolve } from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '../runtime/clock.ts';
import type { Secret } from '../runtime/secret.ts';
import { AdminClient } from './admin-client.ts';
import { readConfig, type Config, type Context } from './cli-config.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { changeConfig } from './config-lock.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { inWords } from './connection-error.ts';
import { requireName } from './context-commands.ts';
import { logInByDevice, type IssuerInfo } from './device-flow.ts';
import { printable } from './git-views.ts';
import { revokeLogin } from './issuer-logout.ts';
import { loginFrom } from './oidc-session.ts';
import { addOutput, print, type OutputOptions } from './output.ts';
import { readInput } from './read-input.ts';
import { currentContext, plainUrl, readTokenFile, requireUrl, tokenIn } from './resolve-connection.ts';
import { meText, type Me } from './me-text.ts';

interface LoginOptions {
  readonly tokenFile?: string;
  readonly tokenStdin?: boolean;
  readonly oidc?: boolean;
  readonly name?: string;
  readonly organization?: string;
}

interface LoginInfo {
  readonly oidc?: IssuerInfo;
  /** Why nobody can log in by the issuer now. */
  readonly oidcFault?: string;
}

type Credential = Pick<Context, 'tokenFile' | 'token' | 'oidc'>;

const WAYS = 'Give --oidc, --token-file FILE or --token-stdin';

/** `servicectl login|logout|whoami` */
export function addLoginCommands(program: Command, deps: CliDeps): void {
  program
    .command('login')
    .argument('<url>', 'address of the control plane')
    .description('logs you in to a control plane and makes it the current context; see docs/cli.md')
    .option('--token-file <file>', 'a file with an admin token, which is read for each command')
    .option('--token-stdin', 'an admin token from standard input, which is kept in the configuration')
    .option('--oidc', 'by your identity provider, with a browser on any machine')
    .option('--name <name>', 'of the context (default: the host of the address)')
    .option('--organization <name>', 'of those you belong to')
    .action(async (url: string, options: LoginOptions) => await logIn(requireUrl(url), options, deps));

  program
    .command('logout')
    .argument('[context]', 'default: the current one')
    .description('forgets the token of a context; a login by an identity provider is ended there too')
    .action(async (name: string | undefined) => await logOut(name, deps));

  addOutput(withConnection(program.command('whoami')))
    .description('prints who you are for the control plane, in which organization, and what you may do')
    .action(async (options: ConnectionOptions & OutputOptions) => {
      const me = await callControlPlane<Me>(options, deps, 'GET', '/me');
      print(deps, options, { item: me, text: meText, nameOf: ({ name }) => name });
    });
}

async function logIn(server: string, options: LoginOptions, deps: CliDeps): Promise<void> {
  const name = nameFor(server, options.name, readConfig(deps));
  const credential = await credentialFor(server, options, deps);
  const token = secretOf(credential);
  const me = await whoIsIn(server, token, options.organization, deps);
  // Kept, so that no membership of another organization, which its admins make, changes where commands go. A token is of one.
  const organization = options.organization ?? (me.via === 'oidc' ? me.organization.name : undefined);
  const chosen = organization === undefined ? {} : { organization };
  await changeConfig(deps, (config) => {
    nameFor(server, name, config);
    return {
      ...config,
      currentContext: name,
      contexts: { ...config.contexts, [name]: { server, ...chosen, ...credential } },
    };
  });
  deps.out(printable(`${server}: logged in as ${me.name} of ${me.organization.name}, with ${me.scopes.join(', ')}\n`));
  deps.out(`${name} is the current context\n`);
}

/** @throws CliError where one of several organizations has to be chosen, and nobody can be asked */
async function whoIsIn(
  server: string,
  token: Secret,
  wanted: string | undefined,
  deps: CliDeps,
): Promise<Me & Required<Pick<Me, 'organization'>>> {
  const { organization, ...me } = await call<Me>(server, '/me', {
    token,
    ...(wanted === undefined ? {} : { organization: wanted }),
  });
  if (organization !== undefined) return { ...me, organization };
  const names = me.organizations.map(({ name }) => name).join(', ');
  const typed = (await deps.terminal?.ask(`Organization (${names}): `))?.trim() ?? '';
  if (typed !== '') return await whoIsIn(server, token, typed, deps);
  throw new CliError(EXIT.usage, `you may be in several organizations: ${names}`, 'Choose one: --organization NAME');
}

async function credentialFor(server: string, options: LoginOptions, deps: CliDeps): Promise<Credential> {
  const { tokenFile, tokenStdin, oidc } = options;
  const ways = [tokenFile !== undefined, tokenStdin === true, oidc === true].filter(Boolean).length;
  if (ways > 1) throw new CliError(EXIT.usage, 'there is one way to log in at a time', WAYS);
  if (tokenFile !== undefined) return { tokenFile: resolve(tokenFile) };
  if (tokenStdin === true) return { token: tokenIn(await readInput('-', ''), 'standard input').expose() };
  const info = await call<LoginInfo>(server, '/login', {});
  if (info.oidc !== undefined && (oidc === true || deps.terminal !== undefined)) {
    return { oidc: await byIssuer(info.oidc, deps) };
  }
  if (oidc === true) {
    throw info.oidcFault === undefined
      ? new CliError(EXIT.failed, `${server} trusts no identity provider`, 'Log in with a token: --token-file FILE')
      : new CliError(EXIT.failed, info.oidcFault, 'Try again, or log in with a token: --token-file FILE');
  }
  const typed = await deps.terminal?.askHidden('Admin token (it is not shown): ');
  if (deps.terminal === undefined) throw new CliError(EXIT.usage, 'nobody can be asked for a token here', WAYS);
  return { token: tokenIn(typed ?? '', 'what was typed').expose() };
}

async function byIssuer(info: IssuerInfo, deps: CliDeps): Promise<NonNullable<Context['oidc']>> {
  const { answer, tokenEndpoint } = await logInByDevice(info, { clock: deps.clock ?? systemClock, tell: deps.err });
  const { issuer, clientId, audience } = info;
  const use = audience === clientId ? 'id_token' : 'access_token';
  const login = loginFrom(answer, { issuer, clientId, tokenEndpoint, use }, deps);
  if (login === undefined) throw new CliError(EXIT.failed, `${issuer} logged you in without an ${use}`);
  return login;
}

async function logOut(name: string | undefined, deps: CliDeps): Promise<void> {
  const config = readConfig(deps);
  const context = currentContext(name === undefined ? {} : { context: name }, config, deps);
  if (context === undefined) {
    throw new CliError(EXIT.failed, 'there is no current context', 'See which there are: servicectl contexts list');
  }
  let ended: Context['oidc'];
  await changeConfig(deps, (now) => {
    const { server, organization, oidc } = now.contexts[context.name] ?? context;
    ended = oidc;
    const kept = { server, ...(organization === undefined ? {} : { organization }) };
    return { ...now, contexts: { ...now.contexts, [context.name]: kept } };
  });
  deps.out(`logged out of ${context.name}\n`);
  const fault = ended === undefined ? undefined : await revokeLogin(ended);
  if (fault !== undefined)
    deps.err(`servicectl: WARNING: the login is forgotten here, and not ended at the issuer: ${fault}\n`);
  if (context.token !== undefined) {
    deps.out('The token itself still counts. To end it: servicectl admin-tokens delete NAME\n');
  }
}

/** @throws CliError where the name is that of another control plane */
function nameFor(server: string, given: string | undefined, { contexts }: Config): string {
  const name = requireName(given ?? new URL(server).host.replaceAll(':', '-').replace(/^\[|\]/g, ''));
  const there = contexts[name];
  if (there === undefined || plainUrl(there.server) === server) return name;
  throw new CliError(
    EXIT.usage,
    `the context ${name} is of ${there.server}`,
    'Give this one another name: --name NAME',
  );
}

function secretOf({ tokenFile, token, oidc }: Credential): Secret {
  return tokenFile === undefined ? tokenIn(token ?? oidc?.token ?? '', 'the login') : readTokenFile(tokenFile);
}

async function call<T>(
  baseUrl: string,
  path: string,
  who: { readonly token?: Secret; readonly organization?: string },
): Promise<T> {
  try {
    return await new AdminClient({ baseUrl, ...who }).call<T>('GET', path);
  } catch (error) {
    throw inWords(error, { baseUrl, path, renewal: 'Log in with a token of this control plane' });
  }
}
