import type { Command } from 'commander';
import { readInstallFiles } from '../install/install-files.ts';
import { renderNamespaceGrant, renderVeleroGrant } from '../install/render-install.ts';
import { DEFAULT_VELERO_NAMESPACE } from '../resources/velero.ts';
import type { CliDeps } from './cli-deps.ts';
import { manifestOutput, outputOption, type ManifestOutput } from './print-manifest.ts';

interface AddOptions {
  readonly serviceAccount?: string;
  readonly output: ManifestOutput;
}

interface VeleroOptions {
  readonly veleroNamespace: string;
  readonly output: ManifestOutput;
}

/** `servicectl namespaces …` */
export function addNamespaceCommands(program: Command, deps: CliDeps): void {
  const namespaces = program.command('namespaces').description('where the operator may work');
  namespaces
    .command('add')
    .argument('<namespace>', 'a namespace; it is made if it is not there')
    .description('prints what `kubectl apply -f -` grants the operator a namespace with')
    .option('--service-account <name>', 'what releases run as there (default: service-applications)')
    .addOption(outputOption())
    .action((namespace: string, { serviceAccount, output }: AddOptions) => {
      const grant = { namespace, ...(serviceAccount === undefined ? {} : { serviceAccount }) };
      deps.out(manifestOutput(renderNamespaceGrant(readInstallFiles(), grant), output));
    });
  namespaces
    .command('add-velero')
    .description('prints what `kubectl apply -f -` lets the operator back up and restore with Velero with')
    .option('--velero-namespace <name>', 'where Velero runs', DEFAULT_VELERO_NAMESPACE)
    .addOption(outputOption())
    .action(({ veleroNamespace, output }: VeleroOptions) => {
      deps.out(manifestOutput(renderVeleroGrant(readInstallFiles(), veleroNamespace), output));
    });
}
