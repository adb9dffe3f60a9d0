import { conditionNews } from '../resources/condition-news.ts';
import type { ShownCluster } from './cluster-table.ts';
import { DAY_MS, type Finding } from './doctor-checks.ts';

type Condition = ShownCluster['conditions'][number];

const LOGS = 'kubectl --namespace service-system logs deployment/service-operator';

/** What to do of a condition that is wrong, beside what its own message says. By type, or by type and reason. */
const TO_DO: Readonly<Record<string, (slug: string) => string>> = {
  'Connected/NotRegistered': (slug) => `Install its operator: servicectl clusters install-command ${slug}`,
  'Connected/ClusterDisabled': (slug) => `Take it up again: servicectl clusters enable ${slug}`,
  'Connected/CredentialRevoked': (slug) => `Let its operator in again: servicectl clusters recovery-command ${slug}`,
  Connected: () => `See in the cluster whether it runs and what it says: ${LOGS}`,
  Expired: (slug) => `Let its operator in again: servicectl clusters recovery-command ${slug}`,
  OperatorSupported: (slug) => `Print the manifests of another version: servicectl clusters install-command ${slug}`,
  OperatorUpToDate: (slug) =>
    `Print the manifests of the version that it is to run: servicectl clusters install-command ${slug}`,
  PushCredentialExpires: (slug) => `Give it another: servicectl clusters push-credential ${slug} --kubeconfig FILE`,
  NamespacesGranted: () => 'Grant the namespace: servicectl namespaces add NAMESPACE | kubectl apply -f -',
};

/** What of a cluster is not as it should be. */
export function checkCluster(cluster: ShownCluster, now: Date): readonly Finding[] {
  return [checkContact(cluster), checkCredential(cluster, now), ...wrongConditions(cluster)].flat();
}

function checkContact({ slug, lastContactAt, operatorVersion }: ShownCluster): Finding {
  const check = `${slug}: operator`;
  if (lastContactAt === undefined) {
    const next = `Install it: servicectl clusters install-command ${slug}`;
    return { check, state: 'failed', message: 'has never been in contact', next };
  }
  return {
    check,
    state: 'ok',
    message: `${operatorVersion ?? 'of an unknown version'}, last contact ${lastContactAt}`,
  };
}

function checkCredential({ slug, credential }: ShownCluster, now: Date): readonly Finding[] {
  if (credential === undefined) return [];
  const check = `${slug}: credential`;
  const left = Date.parse(credential.expiresAt) - now.getTime();
  const message = `good until ${credential.expiresAt}, renewed after ${credential.rotateAfter}`;
  // One that has ended is told by the condition Expired.
  if (left <= 0) return [];
  const isLate = Date.parse(credential.rotateAfter) + DAY_MS < now.getTime();
  if (!isLate) return [{ check, state: 'ok', message }];
  return [{ check, state: 'warning', message: `${message}, which did not happen`, next: `See what it says: ${LOGS}` }];
}

function wrongConditions({ slug, conditions, lastContactAt }: ShownCluster): readonly Finding[] {
  // `Disconnected` is `Connected` the other way round, and that it never was in contact is told already.
  const told = conditions.filter(
    ({ type }) => type !== 'Disconnected' && (type !== 'Connected' || lastContactAt !== undefined),
  );
  const wrong = told.flatMap((condition): readonly Finding[] => {
    const state = stateOf(condition);
    if (state === 'ok') return [];
    const { type, status, reason = '', message = '' } = condition;
    const next = (TO_DO[`${type}/${reason}`] ?? TO_DO[type])?.(slug);
    return [
      {
        check: `${slug}: ${type}`,
        state,
        message: `${status}${reason === '' ? '' : `, ${reason}`}${message === '' ? '' : `: ${message}`}`,
        next: next ?? `See docs/operations.md for ${reason === '' ? type : reason}`,
      },
    ];
  });
  if (wrong.length > 0 || lastContactAt === undefined) return wrong;
  return [{ check: `${slug}: conditions`, state: 'ok', message: `all ${conditions.length} are as they should be` }];
}

function stateOf(condition: Condition): Finding['state'] {
  const news = conditionNews(condition);
  return news === 'bad' ? 'failed' : news === 'warning' ? 'warning' : 'ok';
}
