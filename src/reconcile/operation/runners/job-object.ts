import { createHash } from 'node:crypto';
import type { KubeObject } from '../../../resources/kube-object.ts';
import {
  DEFAULT_RELEASE_SERVICE_ACCOUNT,
  OPERATION_UID_LABEL,
  OPS_API_VERSION,
  SERVICE_ACCOUNT_ANNOTATION,
} from '../../../resources/labels.ts';
import { OPERATION_KIND } from '../../../resources/operation.ts';
import type { OperationRun } from '../template-runner.ts';

export const JOB = { apiVersion: 'batch/v1', kind: 'Job' } as const;
/** A Job's name becomes a label of its pods. */
const MAX_NAME = 63;
const DEFAULT_CONTAINER = 'job';
/** The operator ends a Job at its operation's deadline; should it be away then, Kubernetes does so much later. */
const MORE_SECONDS = 30;

type Fields = Readonly<Record<string, unknown>>;

/** A CronJob, as far as a Job is made of it. */
export interface CronJob extends KubeObject {
  readonly spec?: {
    readonly jobTemplate?: {
      readonly metadata?: { readonly labels?: Fields; readonly annotations?: Fields };
      readonly spec?: Fields & { readonly template?: { readonly metadata?: Fields; readonly spec?: Fields } };
    };
  };
}

/** What `run-job` takes beside the name of a CronJob. */
interface InlineJob {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly secretEnv?: readonly string[];
  readonly container?: string;
}

/** `<operation>-<attempt>`; of an operation with a long name its beginning and a hash of the whole. */
export function jobName({ operation, attempt }: Pick<OperationRun, 'operation' | 'attempt'>): string {
  const { name } = operation.metadata;
  const whole = `${name}-${attempt}`;
  // A name with dots is no label.
  if (whole.length <= MAX_NAME && !name.includes('.')) return whole;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 10);
  return `${name.replaceAll('.', '-').slice(0, MAX_NAME - 15)}-${hash}-${attempt}`;
}

/** The account that the releases of the namespace run as; a job never runs as another. */
export function jobAccount({ namespace }: Pick<OperationRun, 'namespace'>): string {
  return namespace.metadata.annotations?.[SERVICE_ACCOUNT_ANNOTATION] ?? DEFAULT_RELEASE_SERVICE_ACCOUNT;
}

/** The Job of a CronJob, as `kubectl create job --from` makes it, but for what `jobAround` decides. */
export function jobFromCronJob(run: OperationRun, cronJob: CronJob): KubeObject {
  const { metadata, spec = {} } = cronJob.spec?.jobTemplate ?? {};
  // A Job that deletes itself could not be looked at; the selector and what it selects by are the server's.
  const { ttlSecondsAfterFinished: _ttl, selector: _selector, manualSelector: _manual, suspend: _s, ...rest } = spec;
  const { serviceAccount: _account, ...pod } = spec.template?.spec ?? {};
  const seconds = typeof spec['activeDeadlineSeconds'] === 'number' ? spec['activeDeadlineSeconds'] : undefined;
  const annotations = { ...metadata?.annotations, 'cronjob.kubernetes.io/instantiate': 'manual' };
  const meta = { labels: metadata?.labels ?? {}, annotations };
  return jobAround(
    run,
    meta,
    { ...rest, ...(seconds === undefined ? {} : { activeDeadlineSeconds: seconds }) },
    {
      ...spec.template,
      spec: pod,
    },
  );
}

/** A Job of one container that passes the restricted Pod Security profile. */
export function inlineJob(run: OperationRun): KubeObject {
  const { image, command, args, env = {}, secretEnv = [], container } = run.parameters as InlineJob;
  const one = {
    name: container ?? DEFAULT_CONTAINER,
    image,
    ...(command === undefined ? {} : { command }),
    ...(args === undefined ? {} : { args }),
    env: Object.entries(env).map(([name, value]) => ({ name, value })),
    envFrom: secretEnv.map((name) => ({ secretRef: { name } })),
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
  const spec = {
    containers: [one],
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  };
  return jobAround(run, { labels: {}, annotations: {} }, {}, { spec });
}

/** What holds for every job: one try, in the time that is left, under the namespace's account, gone with its operation. */
function jobAround(
  run: OperationRun,
  { labels, annotations }: { readonly labels: Fields; readonly annotations: Fields },
  spec: Fields,
  template: { readonly metadata?: Fields; readonly spec: Fields },
): KubeObject {
  const { name, uid = '', namespace = '' } = run.operation.metadata;
  const left = Math.max(0, Math.ceil((run.deadline.getTime() - run.now.getTime()) / 1000)) + MORE_SECONDS;
  const own = spec['activeDeadlineSeconds'];
  const mark = { [OPERATION_UID_LABEL]: uid };
  return {
    ...JOB,
    metadata: {
      name: jobName(run),
      namespace,
      labels: { ...(labels as Record<string, string>), ...mark },
      annotations: annotations as Record<string, string>,
      ownerReferences: [{ apiVersion: OPS_API_VERSION, kind: OPERATION_KIND, name, uid }],
    },
    spec: {
      ...spec,
      backoffLimit: 0,
      activeDeadlineSeconds: typeof own === 'number' ? Math.min(own, left) : left,
      template: {
        ...template,
        metadata: {
          ...template.metadata,
          labels: { ...(template.metadata?.['labels'] as Record<string, string> | undefined), ...mark },
        },
        spec: { ...template.spec, serviceAccountName: jobAccount(run), restartPolicy: 'Never' },
      },
    },
  };
}
