import { KubeError } from '../../../kube/cluster-api.ts';
import { KIND_NOT_FOUND } from '../../../kube/kube-fault.ts';
import type { ApplicationInstance } from '../../../resources/application-instance.ts';
import { HELM_RELEASE, type HelmRelease } from '../../../resources/flux-helm-release.ts';
import { HELM_REPOSITORY, type HelmRepository } from '../../../resources/flux-helm-repository.ts';
import { OCI_REPOSITORY, type OciRepository } from '../../../resources/flux-oci-repository.ts';
import type { KubeObject } from '../../../resources/kube-object.ts';
import { APPS_API_VERSION } from '../../../resources/labels.ts';
import { Reason } from '../../../resources/reasons.ts';
import { isOwned } from '../../application-instance/owned-meta.ts';
import { writesArePaused } from '../../write-checks.ts';
import type { FailedTry, OperationRun, RunnerDeps } from '../template-runner.ts';
import { finalFailure } from './refused-call.ts';

export const INSTANCE = { apiVersion: APPS_API_VERSION, kind: 'ApplicationInstance' } as const;

/** An application and what Flux has of it. */
export interface Application {
  readonly instance: ApplicationInstance;
  readonly release: HelmRelease;
  /** Where its chart comes from; undefined: there is none of that name. */
  readonly source: OciRepository | HelmRepository | undefined;
}

export function isFailure(found: Application | FailedTry): found is FailedTry {
  return 'state' in found;
}

/** The application that the operation names, by its target or by its parameters. */
export function applicationOf({ operation, parameters }: OperationRun): {
  readonly namespace: string;
  readonly name: string;
} {
  const { metadata, spec } = operation;
  const { application = '' } = parameters as { readonly application?: string };
  return { namespace: metadata.namespace ?? '', name: spec.targetRef?.name ?? application };
}

/** @throws KubeError */
export async function readApplication(
  { api }: Pick<RunnerDeps, 'api'>,
  run: OperationRun,
  reason: Reason,
  signal: AbortSignal,
): Promise<Application | FailedTry> {
  const { namespace, name } = applicationOf(run);
  const where = `${namespace}/${name}`;
  const instance = await api.get<ApplicationInstance>({ ...INSTANCE, namespace, name }, signal);
  if (instance === undefined || instance.metadata.deletionTimestamp !== undefined) {
    const state = instance === undefined ? 'is not there' : 'is being uninstalled';
    return finalFailure(Reason.TargetNotFound, `ApplicationInstance ${where} ${state}`);
  }
  try {
    const release = await readNamed<HelmRelease>({ api }, HELM_RELEASE, { namespace, name }, signal);
    if (release === undefined)
      return finalFailure(reason, `ApplicationInstance ${where} has no HelmRelease yet: nothing of it runs`);
    if (!isOwned(release, instance)) {
      return finalFailure(
        Reason.ReleaseNotOwned,
        `HelmRelease ${where} was not made of ApplicationInstance ${where}; it is left alone`,
      );
    }
    const kind = instance.spec.chart.type === 'oci' ? OCI_REPOSITORY : HELM_REPOSITORY;
    const source = await readNamed<OciRepository | HelmRepository>({ api }, kind, { namespace, name }, signal);
    return { instance, release, source };
  } catch (error) {
    if (!(error instanceof KubeError) || error.reason !== KIND_NOT_FOUND) throw error;
    return finalFailure(
      Reason.ReleaseControllerMissing,
      `the cluster does not serve Flux' kinds; install Flux (${error.message})`,
    );
  }
}

/** Flux' objects may be listed here and are read by that: one right less to be given. */
async function readNamed<T extends KubeObject>(
  { api }: Pick<RunnerDeps, 'api'>,
  kind: { readonly apiVersion: string; readonly kind: string },
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<T | undefined> {
  const { items } = await api.list<T>(kind, { namespace, fieldSelector: `metadata.name=${name}` }, signal);
  return items[0];
}

/** Break-glass holds for what operations would write too. */
export function writesAreStopped({ instance }: Application, { policy }: OperationRun): FailedTry | undefined {
  const pause = writesArePaused(policy, instance);
  return pause === undefined ? undefined : finalFailure(Reason.Paused, pause.message);
}

/** A release that Flux is told to leave alone, and how to go on. */
export function releaseIsSuspended({ instance, release }: Application, reason: Reason): FailedTry | undefined {
  const { name, namespace = '' } = instance.metadata;
  if (instance.spec.suspend === true) {
    return finalFailure(
      reason,
      `ApplicationInstance ${namespace}/${name} is suspended (spec.suspend); send an update intent with suspend: false first`,
    );
  }
  if (release.spec.suspend !== true) return undefined;
  return finalFailure(
    reason,
    `HelmRelease ${namespace}/${name} is suspended; resume it with: flux resume helmrelease ${name} -n ${namespace}`,
  );
}
