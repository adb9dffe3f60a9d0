import { rmSync } from 'node:fs';
import type { Command } from 'commander';
import { generateEncryptionKeypair } from '../protocol/jwe.ts';
import type { PublicJwk } from '../protocol/register.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { jsonText } from './escaped-document.ts';
import { writeRecoveryKey } from './recovery-key-file.ts';

const PATH = '/organization/recovery-key';

interface KeyAnswer {
  readonly recoveryKey: PublicJwk | null;
}

interface CreateOptions extends ConnectionOptions {
  readonly out: string;
  readonly replace?: boolean;
}

/** `servicectl recovery-key create|show|delete` */
export function addRecoveryKeyCommands(program: Command, deps: CliDeps): void {
  const key = program
    .command('recovery-key')
    .description("your organization's key that secret values are sealed to besides their cluster's");

  withConnection(key.command('create'))
    .description('makes the key here, keeps its private half in a file, and gives the control plane the public half')
    .option('--out <file>', 'where the private half goes', 'service-recovery-key.json')
    .option('--replace', 'takes the place of the key that there is; what was sealed to that one still needs it')
    .action(async (options: CreateOptions) => await create(options, deps));

  withConnection(key.command('show'))
    .description('prints the public half')
    .action(async (options: ConnectionOptions) => {
      const { recoveryKey } = await callControlPlane<KeyAnswer>(options, deps, 'GET', PATH);
      deps.out(recoveryKey === null ? 'there is no recovery key\n' : `${jsonText(recoveryKey)}\n`);
    });

  withConfirmation(withConnection(key.command('delete')))
    .description('seals secret values to their cluster alone from now on')
    .action(async (options: ConnectionOptions & Confirmation) => {
      await confirm(
        deps,
        options,
        'leaves secret values that are accepted from now on without a copy for servicectl reseal',
      );
      await callControlPlane(options, deps, 'DELETE', PATH);
      deps.out('there is no recovery key any more; what was sealed to it before still opens with its private half\n');
    });
}

async function create(options: CreateOptions, deps: CliDeps): Promise<void> {
  const { recoveryKey } = await callControlPlane<KeyAnswer>(options, deps, 'GET', PATH);
  if (recoveryKey !== null && options.replace !== true) {
    const next = 'To take another from now on, add --replace; keep the earlier file for what was sealed to it';
    throw new CliError(EXIT.usage, `there is a recovery key already, ${recoveryKey.kid ?? ''}`, next);
  }
  const { publicJwk, privateJwk } = await generateEncryptionKeypair();
  // First the file: a public key whose private half was lost would seal what nobody can open.
  writeRecoveryKey(options.out, privateJwk);
  try {
    await callControlPlane(options, deps, 'PUT', PATH, { publicKey: publicJwk });
  } catch (error) {
    rmSync(options.out, { force: true });
    throw error;
  }
  deps.out(
    `recovery key ${publicJwk.kid ?? ''}: its private half is in ${options.out} and nowhere else; keep that file offline.\n` +
      'Secret values that are accepted from now on are sealed to it too; those before are not.\n',
  );
}
