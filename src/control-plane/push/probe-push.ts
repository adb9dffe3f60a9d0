import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { KIND_NOT_FOUND } from '../../kube/kube-fault.ts';
import type { ClusterConnection } from '../../kube/connect-cluster.ts';
import type { ApplicationInstance } from '../../resources/application-instance.ts';
import { APPS_API_VERSION, OPERATOR_NAMESPACE, PUSH_FIELD_MANAGER } from '../../resources/labels.ts';
import type { Clock } from '../../runtime/clock.ts';
import { eachBounded } from './each-bounded.ts';
import type { PushProbe } from './push-credential-info.ts';
import { listed, probeExcess, probeRights } from './probe-rights.ts';
import { proveCluster } from './prove-cluster.ts';
import type { SwitchProbe } from './switch-probe.ts';

/** All of it, over hundreds of namespaces. */
const PROBE_MS = 45_000;
const MAX_MESSAGE = 1000;

/** The operator's own webhooks (templates/install/operator/webhook.yaml). */
const OWN_WEBHOOK = /^admission webhook "[a-z]+\.admission\.service\.io" denied the request: /;

export interface ProbedCluster {
  readonly id: string;
  readonly slug: string;
  readonly allowedNamespaces: readonly string[];
}

/** What was found; `state` of the proof beside it decides what may be done with a credential that is not proven yet. */
export interface PushProbed {
  readonly probe: PushProbe;
  /** The API server is another cluster's: nothing may ever be written by this credential. */
  readonly isOther: boolean;
  /** Reached and authenticated, and there is no registered operator to tell whose API server it is. */
  readonly isUnknown: boolean;
}

/**
 * Looks whether push mode can work by a connection, and leaves no trace: is the server there, is it this cluster's, may the
 * account do what the specification lists, and would an apply be taken in each allowed namespace. Rejects only when aborted.
 */
export async function probePush(
  deps: {
    readonly connection: Pick<ClusterConnection, 'version' | 'list' | 'apply' | 'account'>;
    readonly clock: Clock;
  },
  cluster: ProbedCluster,
  signal: AbortSignal,
): Promise<PushProbed> {
  const { clock } = deps;
  const done = new AbortController();
  const late = new AbortController();
  void clock.sleep(PROBE_MS, done.signal).then(
    () => late.abort(new Error(`the probe took longer than ${PROBE_MS / 1000} s`)),
    () => undefined,
  );
  const found: SwitchProbe[] = [];
  const end = { isOther: false, isUnknown: false, refused: false };
  let at = 'reachable';
  try {
    for (const [name, look] of steps(deps, cluster, end)) {
      at = name;
      const probe = await look(AbortSignal.any([signal, late.signal]));
      found.push({ ...probe, message: cut(probe.message) });
      if (end.isOther) break;
    }
  } catch (error) {
    signal.throwIfAborted();
    end.refused = error instanceof KubeError && error.status === 401;
    found.push({ name: at, ok: false, message: cut(late.signal.aborted ? lateness(at) : faultText(error)) });
  } finally {
    done.abort();
  }
  return {
    probe: {
      at: clock.now().toISOString(),
      ok: found.every(({ ok }) => ok),
      ...(end.refused ? { refused: true } : {}),
      probes: found,
    },
    isOther: end.isOther,
    isUnknown: end.isUnknown,
  };
}

type Step = readonly [name: string, look: (signal: AbortSignal) => Promise<SwitchProbe>];

function steps(
  { connection, clock }: Parameters<typeof probePush>[0],
  cluster: ProbedCluster,
  end: { isOther: boolean; isUnknown: boolean },
): readonly Step[] {
  const { account } = connection;
  const namespaces = cluster.allowedNamespaces;
  return [
    [
      'reachable',
      async (signal) => {
        const { gitVersion } = await connection.version(signal);
        // Whoever is nobody may ask for the version, so the credential is shown by another question.
        await account.may({ verb: 'get', group: 'ops.service.io', resource: 'clusters' }, signal);
        const version = gitVersion.replaceAll(/[^\w.+-]/g, '').slice(0, 40);
        return { name: 'reachable', ok: true, message: `the API server answers and takes the credential (${version})` };
      },
    ],
    ['same-cluster', async (signal) => await probeSameCluster({ api: connection, clock }, cluster, end, signal)],
    ['rights', async (signal) => await probeRights(account, namespaces, signal)],
    ['dry-run', async (signal) => await probeDryRun(connection, namespaces, signal)],
    ['nothing-else', async (signal) => await probeExcess(account, namespaces, signal)],
  ];
}

async function probeSameCluster(
  deps: { readonly api: Pick<ClusterApi, 'list'>; readonly clock: Clock },
  cluster: ProbedCluster,
  end: { isOther: boolean; isUnknown: boolean },
  signal: AbortSignal,
): Promise<SwitchProbe> {
  const name = 'same-cluster';
  try {
    const proof = await proveCluster(deps, cluster, signal);
    end.isOther = proof.state === 'other';
    end.isUnknown = proof.state === 'unknown';
    if (proof.state !== 'same') return { name, ok: false, message: proof.message };
    return { name, ok: true, message: `its Cluster resource has the id ${cluster.id}` };
  } catch (error) {
    if (!(error instanceof KubeError) || (error.status !== 403 && error.reason !== KIND_NOT_FOUND)) throw error;
    end.isUnknown = true;
    const why =
      error.status === 403
        ? `the account may not list clusters.ops.service.io in ${OPERATOR_NAMESPACE}: bind the Role service-control-plane there (servicectl clusters push-access)`
        : 'the operator’s custom resource definitions are not installed: install the operator first, or, where it is installed, this is another cluster: look at the server in the kubeconfig';
    return { name, ok: false, message: why };
  }
}

/** A server-side apply that is checked and admitted, and stored nowhere. */
async function probeDryRun(
  api: Pick<ClusterApi, 'apply'>,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<SwitchProbe> {
  const faults = await eachBounded(namespaces, async (namespace) => await applyDry(api, namespace, signal));
  const refused = faults.filter((fault) => fault !== undefined);
  const name = 'dry-run';
  if (refused.length > 0) return { name, ok: false, message: `an apply is refused: ${listed(refused)}` };
  const count = namespaces.length;
  if (count === 0) {
    const warning = 'the cluster has no allowed namespace: nothing can be delivered to it';
    return { name, ok: true, message: 'there is no allowed namespace to try', warning };
  }
  return {
    name,
    ok: true,
    message: `an apply would be taken in ${count === 1 ? '1 namespace' : `${count} namespaces`}`,
  };
}

/** @returns why it is refused */
async function applyDry(
  api: Pick<ClusterApi, 'apply'>,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const instance: ApplicationInstance = {
    apiVersion: APPS_API_VERSION,
    kind: 'ApplicationInstance',
    metadata: { name: 'service-control-plane-probe', namespace },
    spec: {
      catalogEntry: 'probe',
      chart: { type: 'oci', url: 'oci://probe.invalid/probe', name: 'probe', version: '0.0.0' },
      suspend: true,
    },
  };
  try {
    await api.apply(instance, { fieldManager: PUSH_FIELD_MANAGER, dryRun: true }, signal);
    return undefined;
  } catch (error) {
    if (!(error instanceof KubeError) || error.status === 0 || error.status === 401 || error.retryable) throw error;
    return refusalIn(namespace, error.message);
  }
}

/**
 * What a refusal says about the namespace. The operator's webhook also says that the probe's chart is in no catalog and that
 * it carries no signature: it was asked and judged, which is what the probe is for. Its lines come joined (`harmless`).
 */
function refusalIn(namespace: string, message: string): string | undefined {
  if (!OWN_WEBHOOK.test(message)) return `${namespace}: ${message}`;
  const lines = message.replace(OWN_WEBHOOK, '').split(/\n| \| /);
  const about = lines.filter((line) => line.startsWith(`namespace ${namespace} is not `));
  return about.length === 0 ? undefined : about.join('; ');
}

function faultText(error: unknown): string {
  if (error instanceof KubeError && error.status === 401) {
    return 'the API server does not take the credential (401): it has expired, was revoked or is another cluster’s; make a new one (servicectl clusters push-access)';
  }
  if (error instanceof KubeError && error.status === 0) {
    return `${error.message}; check the server's address in the kubeconfig: it must be reachable from the control plane`;
  }
  return error instanceof Error ? error.message : 'the probe failed';
}

function lateness(at: string): string {
  return `the probe was not through within ${PROBE_MS / 1000} s (${at}): the API server is slow or there are very many namespaces`;
}

function cut(message: string): string {
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message;
}
