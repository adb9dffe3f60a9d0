import type { Command } from 'commander';
import type { Config, Context } from './cli-config.ts';
import { readConfig } from './cli-config.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { changeConfig } from './config-lock.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { addOutput, factsText, print, type Column, type OutputOptions } from './output.ts';
import { currentContext } from './resolve-connection.ts';

/** A context as it is printed: without anything secret. */
interface ShownContext {
  readonly name: string;
  readonly isCurrent: boolean;
  readonly server: string;
  readonly organization?: string;
  /** How its calls are authorized. */
  readonly login: 'token' | 'token file' | 'oidc' | 'none';
  readonly tokenFile?: string;
  readonly issuer?: string;
  readonly expiresAt?: string;
}

const COLUMNS: readonly Column<ShownContext>[] = [
  { header: 'CURRENT', value: ({ isCurrent }) => (isCurrent ? '*' : ' ') },
  { header: 'NAME', value: ({ name }) => name },
  { header: 'SERVER', value: ({ server }) => server },
  { header: 'LOGIN', value: ({ login }) => login, tone: ({ login }) => (login === 'none' ? 'warning' : undefined) },
  { header: 'ORGANIZATION', value: ({ organization }) => organization },
  { header: 'TOKEN FILE', value: ({ tokenFile }) => tokenFile, isWide: true },
  { header: 'ISSUER', value: ({ issuer }) => issuer, isWide: true },
];

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** `servicectl contexts list|use|show|rename|delete` */
export function addContextCommands(program: Command, deps: CliDeps): void {
  const contexts = program
    .command('contexts')
    .description('the control planes that you are logged in to, and which of them is meant');

  addOutput(contexts.command('list'))
    .description('prints the contexts; the current one has a star')
    .action((options: OutputOptions) => {
      const config = readConfig(deps);
      const items = Object.entries(config.contexts).map(([name, context]) => shown(name, context, config, deps));
      print(deps, options, {
        items,
        columns: COLUMNS,
        nameOf: ({ name }) => name,
        empty: 'To log in: servicectl login URL',
      });
    });

  contexts
    .command('use')
    .argument('<name>', 'see servicectl contexts list')
    .description('makes it the current one')
    .action(async (name: string) => {
      await changeConfig(deps, (config) => {
        requireContext(config, name);
        return { ...config, currentContext: name };
      });
      deps.out(`${name} is the current context\n`);
    });

  addOutput(contexts.command('show'))
    .argument('[name]', 'default: the current one')
    .description('prints a context, without its token')
    .action((name: string | undefined, options: OutputOptions) => {
      const config = readConfig(deps);
      const found = name ?? currentContext({}, config, deps)?.name;
      if (found === undefined) {
        throw new CliError(EXIT.failed, 'there is no current context', 'Log in: servicectl login URL');
      }
      const item = shown(found, requireContext(config, found), config, deps);
      print(deps, options, { item, text: contextText, nameOf: () => found });
    });

  contexts
    .command('rename')
    .argument('<name>', 'see servicectl contexts list')
    .argument('<new-name>', "letters, digits, '.', '_' and '-'")
    .description('gives it another name')
    .action(async (name: string, newName: string) => {
      await changeConfig(deps, (config) => {
        const context = requireContext(config, name);
        requireName(newName);
        if (config.contexts[newName] !== undefined) {
          throw new CliError(
            EXIT.usage,
            `there is a context ${newName} already`,
            `Delete it: servicectl contexts delete ${newName}`,
          );
        }
        const { [name]: _old, ...others } = config.contexts;
        const isCurrent = config.currentContext === name;
        return {
          ...config,
          ...(isCurrent ? { currentContext: newName } : {}),
          contexts: { ...others, [newName]: context },
        };
      });
      deps.out(`${name} is called ${newName}\n`);
    });

  withConfirmation(contexts.command('delete'))
    .argument('<name>', 'see servicectl contexts list')
    .description('forgets a context with its token')
    .action(async (name: string, options: Confirmation) => {
      requireContext(readConfig(deps), name);
      await confirm(deps, options, `forgets the context ${name}, with the token that is kept for it`);
      await changeConfig(deps, (config) => {
        const { [name]: _old, ...contexts } = config.contexts;
        const { currentContext: current, ...rest } = config;
        return { ...rest, ...(current === undefined || current === name ? {} : { currentContext: current }), contexts };
      });
      deps.out(`context ${name} is forgotten\n`);
    });
}

/** @throws CliError */
export function requireName(name: string): string {
  if (NAME.test(name)) return name;
  const next = "It has 1 to 63 letters, digits, '.', '_' and '-', and begins with a letter or digit";
  throw new CliError(EXIT.usage, `${JSON.stringify(name)} is no name for a context`, next);
}

function requireContext(config: Config, name: string): Context {
  const context = config.contexts[name];
  if (context !== undefined) return context;
  throw new CliError(EXIT.failed, `there is no context ${name}`, 'See which there are: servicectl contexts list');
}

function shown(name: string, context: Context, config: Config, deps: CliDeps): ShownContext {
  const { server, organization, tokenFile, token, oidc } = context;
  // One that the environment names and that is not there is told of by the commands that need it.
  const current = deps.env['SERVICECTL_CONTEXT'] ?? config.currentContext;
  return {
    name,
    isCurrent: name === current,
    server,
    ...(organization === undefined ? {} : { organization }),
    login:
      tokenFile !== undefined ? 'token file' : token !== undefined ? 'token' : oidc !== undefined ? 'oidc' : 'none',
    ...(tokenFile === undefined ? {} : { tokenFile }),
    ...(oidc === undefined ? {} : { issuer: oidc.issuer }),
    ...(oidc?.expiresAt === undefined ? {} : { expiresAt: oidc.expiresAt }),
  };
}

function contextText(context: ShownContext): string {
  return factsText([
    ['name', context.name],
    ['current', context.isCurrent ? 'yes' : 'no'],
    ['server', context.server],
    ['organization', context.organization],
    ['login', context.login],
    ['token file', context.tokenFile],
    ['issuer', context.issuer],
    ['token until', context.expiresAt],
  ]);
}
