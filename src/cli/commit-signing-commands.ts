import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { toneOf } from './colours.ts';
import { printable } from './git-views.ts';
import { addOutput, print, type Column, type OutputOptions } from './output.ts';

interface ListedKey {
  readonly id: string;
  readonly principal: string;
  readonly state: string;
  readonly fingerprint: string;
  readonly createdAt: string;
  readonly retiredAt?: string;
  readonly revokedAt?: string;
}

interface KeyList {
  readonly items: readonly ListedKey[];
  readonly allowedSigners: string;
}

interface RevokeOptions extends ConnectionOptions, Confirmation {
  readonly reason?: string;
  readonly trustPresent?: boolean;
}

const COLUMNS: readonly Column<ListedKey>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'STATE', value: ({ state }) => state, tone: ({ state }) => toneOf(state) },
  { header: 'PRINCIPAL', value: ({ principal }) => principal },
  { header: 'FINGERPRINT', value: ({ fingerprint }) => fingerprint },
  { header: 'CREATED', value: ({ createdAt }) => createdAt },
  { header: 'ENDED', value: ({ retiredAt, revokedAt }) => revokedAt ?? retiredAt },
];

const PATH = '/commit-signing-keys';

/** `servicectl commit-signing-keys list|allowed-signers|rotate|add|revoke|vouch` */
export function addCommitSigningCommands(program: Command, deps: CliDeps): void {
  const keys = program.command('commit-signing-keys').description('the keys whose signatures of commits count');

  addOutput(withConnection(keys.command('list')))
    .description('prints the keys: the one that signs, those that still count, those of people, the revoked ones')
    .action(async (options: ConnectionOptions & OutputOptions) => {
      const { items } = await callControlPlane<KeyList>(options, deps, 'GET', PATH);
      print(deps, options, { items, columns: COLUMNS, nameOf: ({ id }) => id });
    });

  withConnection(keys.command('allowed-signers'))
    .description('prints the file that gpg.ssh.allowedSignersFile of git names')
    .action(async (options: ConnectionOptions) => {
      deps.out((await callControlPlane<KeyList>(options, deps, 'GET', PATH)).allowedSigners);
    });

  withConnection(keys.command('rotate'))
    .description('makes a new key, which signs from now on; what the one before it signed still counts')
    .action(async (options: ConnectionOptions) => {
      const { fingerprint } = await callControlPlane<ListedKey>(options, deps, 'POST', `${PATH}/rotate`);
      deps.out(printable(`commits are signed with ${fingerprint} from now on\n`));
    });

  withConnection(keys.command('add'))
    .argument('<principal>', 'e-mail address of the person or system')
    .argument('<file>', 'its public key, such as id_ed25519.pub')
    .description('lets the commits count that a person or another system signs')
    .action(async (principal: string, file: string, options: ConnectionOptions) => {
      const body = { principal, publicKey: await readPublicKey(file) };
      const { id, fingerprint } = await callControlPlane<ListedKey>(options, deps, 'POST', PATH, body);
      deps.out(printable(`commits that ${principal} signs with ${fingerprint} count (${id})\n`));
    });

  withConfirmation(withConnection(keys.command('revoke')))
    .argument('<id>', 'see servicectl commit-signing-keys list')
    .option('--reason <text>', 'why, for the list and the audit')
    .option('--trust-present', 'vouches for the directories of all clusters as they are: for a key that nobody misused')
    .description(
      'lets nothing count any more that a key signed; where it is the one that signs, a new one is made first',
    )
    .action(async (id: string, options: RevokeOptions) => {
      await confirm(
        deps,
        options,
        `lets no commit count that key ${id} signed, however old. A cluster that requires signed commits and whose directory rests on one applies nothing new, and deletes nothing, until the next commit to it or until somebody vouches for its revision`,
      );
      const body = {
        ...(options.reason === undefined ? {} : { reason: options.reason }),
        ...(options.trustPresent === true ? { trustPresentRevisions: true } : {}),
      };
      const at = `${PATH}/${encodeURIComponent(id)}/revoke`;
      const { fingerprint } = await callControlPlane<ListedKey>(options, deps, 'POST', at, body);
      deps.out(`commits signed with ${fingerprint} no longer count\n`);
    });

  withConfirmation(withConnection(keys.command('vouch')))
    .argument('<cluster>', 'slug or id')
    .argument('<revision>', "tree id of the cluster's directory, as you looked at it")
    .description('lets a cluster read its directory as it is, whoever signed what led to it')
    .action(async (cluster: string, revision: string, options: ConnectionOptions & Confirmation) => {
      await confirm(
        deps,
        options,
        `lets ${cluster} apply what its directory holds at ${revision}, whoever put it there: look at it first`,
      );
      const at = `/clusters/${encodeURIComponent(cluster)}/trust-revision`;
      await callControlPlane(options, deps, 'POST', at, { revision });
      deps.out(`${cluster}: revision ${revision} is trusted\n`);
    });
}

async function readPublicKey(file: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new CliError(EXIT.usage, `${file} cannot be read (${code})`, 'It holds one line: type, base64, comment');
  }
  if (text.includes('PRIVATE KEY')) {
    throw new CliError(EXIT.usage, `${file} is a private key; it was not sent`, `Name the public one: ${file}.pub`);
  }
  return text.trim();
}
