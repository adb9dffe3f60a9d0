/** What a cluster shows, and nobody gives when it is made. */
const NOT_GIVEN = new Set(
  (
    'id organization status disabledAt health waitingFor applications ownIntervals clusterUid conditions lastContactAt ' +
    'credential desiredRevision trustedRevision appliedRevision operatorVersion operatorSupport modeSwitch createdAt ' +
    // These are for the cluster as it is there: clusters update.
    'registeredAt approvalNamespaces deliverIntents requireClientCertificate desiredOperatorVersion'
  ).split(' '),
);
const NOT_GIVEN_OF_GIT = new Set(['url', 'branch', 'path']);

type Values = Readonly<Record<string, unknown>>;

/** A cluster as `clusters show -o yaml` prints it, as the one that is to be made; and what of it was left out. */
export function asGiven(shown: Values): { readonly value: Values; readonly leftOut: readonly string[] } {
  const leftOut: string[] = [];
  const without = (value: Values, names: ReadonlySet<string>, place: string): Values => {
    const kept = Object.entries(value).filter(([name]) => !names.has(name));
    leftOut.push(...Object.keys(value).flatMap((name) => (names.has(name) ? [`${place}${name}`] : [])));
    return Object.fromEntries(kept);
  };
  const { intervals, push, git, ...rest } = without(shown, NOT_GIVEN, '');
  const own = shown['ownIntervals'];
  // The others are the organization's, and would no longer follow it.
  const followed =
    Array.isArray(own) && isObject(intervals) ? Object.keys(intervals).filter((name) => !own.includes(name)) : [];
  const kept = isObject(intervals) ? without(intervals, new Set(followed), 'intervals.') : intervals;
  const isCredential = isObject(push) && 'kubeconfig' in push;
  if (push !== undefined && isObject(push) && !isCredential) leftOut.push('push');
  return {
    value: {
      ...rest,
      ...(kept === undefined || (followed.length > 0 && isObject(kept) && Object.keys(kept).length === 0)
        ? {}
        : { intervals: kept }),
      ...(push === undefined || (isObject(push) && !isCredential) ? {} : { push }),
      ...(git === undefined ? {} : { git: isObject(git) ? without(git, NOT_GIVEN_OF_GIT, 'git.') : git }),
    },
    leftOut,
  };
}

function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
