import { InvalidArgumentError, type Command } from 'commander';
import { accessOption, scopeOption } from './access-names.ts';
import type { CliDeps } from './cli-deps.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { listAll } from './list-all.ts';
import { addOutput, print, type Column, type OutputOptions } from './output.ts';

interface ListedToken {
  readonly name: string;
  readonly roles: readonly string[];
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly expired: boolean;
  readonly access: readonly string[];
  readonly scopes?: readonly string[];
  readonly member?: string;
  readonly lastUsedAt?: string;
}

interface CreateOptions extends ConnectionOptions {
  readonly role: readonly string[];
  readonly access?: readonly string[];
  readonly scope?: readonly string[];
  readonly member?: string;
  readonly expiresIn?: number;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 };

const COLUMNS: readonly Column<ListedToken>[] = [
  { header: 'NAME', value: ({ name }) => name },
  { header: 'MEMBER', value: ({ member }) => member },
  { header: 'ACCESS', value: ({ access, scopes }) => (scopes ?? access).join(',') },
  { header: 'ROLES', value: ({ roles }) => roles.join(',') },
  { header: 'CREATED', value: ({ createdAt }) => createdAt },
  { header: 'EXPIRES', value: expiryText, tone: ({ expired }) => (expired ? 'bad' : undefined) },
  { header: 'LAST USED', value: ({ lastUsedAt }) => lastUsedAt },
];

/** `servicectl admin-tokens list|create|delete` */
export function addAdminTokenCommands(program: Command, deps: CliDeps): void {
  const tokens = program
    .command('admin-tokens')
    .description('who may call the admin API, and as what they may approve');

  addOutput(withConnection(tokens.command('list')))
    .description('prints what each token may do, its expiry and its last use; the tokens themselves are stored nowhere')
    .action(async (options: ConnectionOptions & OutputOptions) => {
      const items = await listAll<ListedToken>(options, deps, '/admin-tokens');
      print(deps, options, { items, columns: COLUMNS, nameOf: ({ name }) => name });
    });

  withConnection(tokens.command('create'))
    .argument('<name>', 'of the person or program: it stands in the audit log and in commits')
    .description('makes a token and prints it alone, this once: meant for a file or a pipe')
    .option('--role <role>', 'what it may approve as; may be given more than once', collect, [])
    .addOption(accessOption("what it may do (default: admin; of a member's token what the member may do)"))
    .addOption(scopeOption('of that these alone'))
    .option('--member <member>', 'whose token it is: it acts under that name, and may do no more than the member')
    .option('--expires-in <time>', 'such as 12h or 90d; without it, it does not expire', seconds)
    .action(async (name: string, { role: roles, access, scope, member, expiresIn, ...options }: CreateOptions) => {
      const body = {
        name,
        ...(roles.length === 0 ? {} : { roles }),
        ...(access === undefined ? {} : { access }),
        ...(scope === undefined ? {} : { scopes: scope }),
        ...(member === undefined ? {} : { member }),
        ...(expiresIn === undefined ? {} : { expiresInSeconds: expiresIn }),
      };
      const { token } = await callControlPlane<{ readonly token: string }>(
        options,
        deps,
        'POST',
        '/admin-tokens',
        body,
      );
      deps.out(`${token}\n`);
    });

  withConfirmation(withConnection(tokens.command('delete')))
    .argument('<name>', 'see servicectl admin-tokens list')
    .description('ends a token at once; approvals given with it no longer count')
    .action(async (name: string, options: ConnectionOptions & Confirmation) => {
      await confirm(
        deps,
        options,
        `ends the token ${name} at once, and what it approved and is not merged yet no longer counts`,
      );
      await callControlPlane(options, deps, 'DELETE', `/admin-tokens/${encodeURIComponent(name)}`);
      deps.out(`admin token ${name} is deleted\n`);
    });
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function seconds(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const factor = UNIT_SECONDS[unit];
  if (factor === undefined) throw new InvalidArgumentError('It is a number with m, h or d, such as 30m, 12h or 90d.');
  return Number(count) * factor;
}

function expiryText({ expiresAt, expired }: ListedToken): string {
  return expiresAt === undefined ? 'never' : expired ? `expired ${expiresAt}` : expiresAt;
}
