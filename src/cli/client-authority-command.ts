import type { Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';

/** `servicectl client-authority` */
export function addClientAuthorityCommand(program: Command, deps: CliDeps): void {
  withConnection(program.command('client-authority'))
    .description(
      "prints the certificates of the authority that signs clusters' client certificates, for a proxy to verify by",
    )
    .action(async (options: ConnectionOptions) => {
      const { certificates } = await callControlPlane<{ readonly certificates: string }>(
        options,
        deps,
        'GET',
        '/client-authority',
      );
      deps.out(certificates);
    });
}
