import { Option, type Command } from 'commander';
import { ACCESS_TEXT, accessOption, listed } from './access-names.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { CliDeps } from './cli-deps.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { listAll } from './list-all.ts';
import { addOutput, factsText, print, type Column, type OutputOptions } from './output.ts';

interface Member {
  readonly name: string;
  readonly displayName?: string;
  readonly email?: string;
  readonly access: readonly string[];
  readonly roles: readonly string[];
  readonly oidc?: { readonly issuer: string; readonly subject: string };
  readonly disabledAt?: string;
  readonly lastSeenAt?: string;
  readonly createdAt: string;
}

interface GivenOptions extends ConnectionOptions, OutputOptions {
  readonly access?: readonly string[];
  readonly role?: readonly string[];
  readonly displayName?: string;
  readonly email?: string;
  readonly subject?: string;
  readonly issuer?: string;
}

interface SetOptions extends GivenOptions, Confirmation {
  readonly clearRoles?: true;
  readonly clearEmail?: true;
  readonly clearDisplayName?: true;
  readonly unbind?: true;
  readonly disable?: true;
  readonly enable?: true;
}

const COLUMNS: readonly Column<Member>[] = [
  { header: 'NAME', value: ({ name }) => name },
  { header: 'ACCESS', value: ({ access }) => access.join(',') },
  { header: 'ROLES', value: ({ roles }) => roles.join(',') },
  { header: 'EMAIL', value: ({ email }) => email },
  {
    header: 'STATE',
    value: stateOf,
    tone: ({ disabledAt }) => (disabledAt === undefined ? undefined : 'bad'),
  },
  { header: 'LAST SEEN', value: ({ lastSeenAt }) => lastSeenAt },
  { header: 'DISPLAY NAME', value: ({ displayName }) => displayName, isWide: true },
  { header: 'SUBJECT', value: ({ oidc }) => oidc?.subject, isWide: true },
  { header: 'CREATED', value: ({ createdAt }) => createdAt, isWide: true },
];

/** `servicectl members list|show|add|set|remove` */
export function addMemberCommands(program: Command, deps: CliDeps): void {
  const members = program.command('members').description('people of the organization, and what each of them may do');

  addOutput(withConnection(members.command('list')))
    .description('prints the members: what they may do, what they approve as, and when they were last seen')
    .action(async (options: ConnectionOptions & OutputOptions) => {
      const items = await listAll<Member>(options, deps, '/members?limit=500');
      const empty = 'There are no members. Add one: servicectl members add NAME --access deployer --email ADDRESS';
      print(deps, options, { items, columns: COLUMNS, nameOf: ({ name }) => name, empty });
    });

  addOutput(withConnection(members.command('show')))
    .alias('get')
    .argument('<name>', 'see servicectl members list')
    .description('prints one member')
    .action(async (name: string, options: ConnectionOptions & OutputOptions) => {
      printMember(await callControlPlane<Member>(options, deps, 'GET', at(name)), options, deps);
    });

  withGiven(addOutput(withConnection(members.command('add'))))
    .argument('<name>', 'of the person: it stands in the audit log and in commits')
    .description('lets somebody in, by the identity provider or with a token (admin-tokens create --member)')
    .action(async (name: string, options: GivenOptions) => {
      if (options.access === undefined) {
        throw new CliError(EXIT.usage, 'nothing says what the member may do', `Add --access, one of: ${ACCESS_TEXT}`);
      }
      const body = { name, ...(await given(options, deps)) };
      printMember(await callControlPlane<Member>(options, deps, 'POST', '/members', body), options, deps);
    });

  withConfirmation(withGiven(addOutput(withConnection(members.command('set')))))
    .argument('<name>', 'see servicectl members list')
    .description('changes what is named of a member; access and roles as a whole')
    .option('--clear-roles', 'takes all roles away')
    .option('--clear-email', 'takes the address away')
    .option('--clear-display-name', 'takes the display name away')
    .addOption(new Option('--unbind', 'lets the next subject with the address be this member').conflicts('subject'))
    .option('--disable', 'keeps the member out, with all of his or her tokens, until --enable')
    .addOption(new Option('--enable', 'lets a disabled member in again').conflicts('disable'))
    .action(async (name: string, options: SetOptions) => {
      const body = { ...(await given(options, deps)), ...cleared(options) };
      if (Object.keys(body).length === 0) {
        throw new CliError(EXIT.usage, 'nothing was given to change', 'See: servicectl members set --help');
      }
      if (options.disable === true) {
        await confirm(deps, options, `keeps ${name} out at once, and what he or she approved does not count meanwhile`);
      }
      printMember(await callControlPlane<Member>(options, deps, 'PATCH', at(name), body), options, deps);
    });

  withConfirmation(withConnection(members.command('remove')))
    .alias('delete')
    .argument('<name>', 'see servicectl members list')
    .description('removes a member and his or her tokens at once')
    .action(async (name: string, options: ConnectionOptions & Confirmation) => {
      const what = `removes ${name} with all of his or her tokens at once, and what he or she approved and is not merged yet no longer counts`;
      await confirm(deps, options, what);
      await callControlPlane(options, deps, 'DELETE', at(name));
      deps.out(`member ${name} is removed\n`);
    });
}

function withGiven(command: Command): Command {
  return command
    .addOption(accessOption('what the member may do'))
    .option('--role <role>', 'what the member may approve as; several with commas', listed)
    .option('--display-name <name>', 'for people')
    .option('--email <address>', 'by which the identity provider knows the member at the first sign-in')
    .option('--subject <subject>', 'the claim sub of the member, where the provider does not verify addresses')
    .option('--issuer <url>', "of the subject; default: the control plane's identity provider");
}

async function given(options: GivenOptions, deps: CliDeps): Promise<Record<string, unknown>> {
  const { access, role: roles, displayName, email, subject } = options;
  return {
    ...(access === undefined ? {} : { access }),
    ...(roles === undefined ? {} : { roles }),
    ...(displayName === undefined ? {} : { displayName }),
    ...(email === undefined ? {} : { email }),
    ...(subject === undefined ? {} : { oidc: { issuer: await issuerOf(options, deps), subject } }),
  };
}

async function issuerOf(options: GivenOptions, deps: CliDeps): Promise<string> {
  if (options.issuer !== undefined) return options.issuer;
  const login = await callControlPlane<{ readonly oidc?: { readonly issuer: string } }>(options, deps, 'GET', '/login');
  if (login.oidc !== undefined) return login.oidc.issuer;
  throw new CliError(EXIT.usage, 'the control plane has no identity provider, or cannot reach it', 'Add --issuer');
}

function cleared(options: SetOptions): Record<string, unknown> {
  return {
    ...(options.clearRoles === true ? { roles: [] } : {}),
    ...(options.clearEmail === true ? { email: null } : {}),
    ...(options.clearDisplayName === true ? { displayName: null } : {}),
    ...(options.unbind === true ? { oidc: null } : {}),
    ...(options.disable === true ? { disabled: true } : {}),
    ...(options.enable === true ? { disabled: false } : {}),
  };
}

function at(name: string): string {
  return `/members/${encodeURIComponent(name)}`;
}

function stateOf({ disabledAt, oidc }: Member): string {
  return disabledAt === undefined ? (oidc === undefined ? 'not signed in by OIDC' : 'bound') : 'disabled';
}

function printMember(item: Member, options: OutputOptions, deps: CliDeps): void {
  print(deps, options, {
    item,
    nameOf: ({ name }) => name,
    text: ({ name, displayName, email, access, roles, oidc, disabledAt, lastSeenAt, createdAt }, { paint }) =>
      factsText(
        [
          ['Name', name],
          ['Display name', displayName],
          ['Address', email],
          ['Access', access.join(', ')],
          ['Approves as', roles.length === 0 ? '-' : roles.join(', ')],
          ['Subject', oidc === undefined ? undefined : `${oidc.subject} of ${oidc.issuer}`],
          ['Disabled', disabledAt, 'bad'],
          ['Last seen', lastSeenAt ?? 'never'],
          ['Created', createdAt],
        ],
        paint,
      ),
  });
}
