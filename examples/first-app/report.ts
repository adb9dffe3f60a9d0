import type { Figures } from './figures.ts';
import type { DemoResult } from './run-intents.ts';
import { writeAdminToken, type Stage } from './stage.ts';

type Write = (text: string) => void;

/** The Git log as a reviewer sees it, the figures with what they were measured with, and what to try next. */
export function printSummary(
  write: Write,
  result: DemoResult,
  stage: Pick<Stage, 'kubeconfig' | 'stays'>,
  isKept: boolean,
): void {
  const { json, git } = result;
  const { measured } = json;
  if (git !== undefined) {
    write(`\nThe Git log of shop/podinfo in ${git.path}, as a reviewer sees it:\n\n${indent(git.log.trimEnd())}\n`);
  }
  write(`
Figures of this run (release controller's own time ${measured.releaseControllerMs} ms, event batches ${measured.eventBatchMs} ms):
  ${git === undefined ? 'accepted → job in the queue       ' : 'accepted → commit on the remote   '}${said(measured.acceptedToDeliveredMs)}
  accepted → Ready seen             ${said(measured.acceptedToReadyMs)}
  with the default event batches of ${measured.withDefaults.eventBatchMs} ms:
  accepted → Ready seen             ${said(measured.withDefaults.acceptedToReadyMs)}
  ${delivered(json)}, ${json.audit.entries} audit entries of this cluster
`);
  write(json.ok ? '\nEverything went as expected.\n' : '\nNOT everything went as expected: see above.\n');
  if (stage.stays.length > 0) {
    const commands = stage.stays.map((args) => `  kubectl --kubeconfig ${stage.kubeconfig} ${args}`);
    write(
      isKept
        ? '\nWhat was made in this cluster stays after Ctrl-C too; docs/install.md, "Complete removal", takes it away.\n'
        : `\nStays in this cluster: what these take away.\n${commands.join('\n')}\n`,
    );
  }
  const keep = '  npm run demo -- --keep      leave it running, then look around with kubectl, git and curl\n';
  write(`
What to try next:
${isKept ? '' : keep}  examples/first-app/         the intents that were taken; change one and run again
  docs/modes.md               move the cluster to another mode while it runs, and back
  docs/operations.md          how to run the two programs
`);
}

/** Where everything is that `--keep` leaves running. */
export async function printKept(write: Write, stage: Stage): Promise<void> {
  const tokenFile = await writeAdminToken(stage);
  write(`
Left running until Ctrl-C (the releases are played: no container runs, so there are no pods and no logs of them):
  control plane   ${stage.controlPlaneUrl}
  admin token     ${stage.adminToken.expose()}   (also in ${tokenFile})
  kubeconfig      ${stage.kubeconfig}
  logs            ${stage.folder}/*.log

  kubectl --kubeconfig ${stage.kubeconfig} get applicationinstances,helmreleases -A
${stage.mode === 'gitops' ? `  git -C ${stage.folder}/clone log --stat   (cloned when the intents were done)\n` : ''}  curl -s -H "Authorization: Bearer $(cat ${tokenFile})" ${stage.controlPlaneUrl}/api/v1/clusters/${stage.clusterId}
`);
}

function delivered({ git, jobs = {} }: DemoResult['json']): string {
  if (git !== undefined) return `${git.commits} commits`;
  return `jobs: ${Object.entries(jobs)
    .map(([how, count]) => `${count} ${how}`)
    .join(', ')}`;
}

function said(figures: Figures | null): string {
  if (figures === null) return 'not measured';
  return `P50 ${figures.p50} ms, longest ${figures.max} ms, of ${figures.count}`;
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}
