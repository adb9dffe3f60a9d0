import type { AccessQuestion, OwnAccount } from '../../kube/own-account.ts';
import { OPERATOR_NAMESPACE } from '../../resources/labels.ts';
import { eachBounded } from './each-bounded.ts';
import type { SwitchProbe } from './switch-probe.ts';

/** The specification's list ("Push and GitOps credentials"). */
const OBJECT_VERBS = ['create', 'get', 'list', 'watch', 'patch', 'update', 'delete'] as const;
const CLUSTER_VERBS = ['get', 'list', 'watch'] as const;
const OBJECTS = [
  { group: 'apps.service.io', resource: 'applicationinstances' },
  { group: 'ops.service.io', resource: 'operations' },
] as const;

/** Places that a message lists; the others are counted. */
const LISTED = 5;

/** What the recommended account may not do: each is a way to other people's data or to more rights. */
const BEYOND: readonly { readonly what: string; readonly question: AccessQuestion }[] = [
  { what: 'do everything in the cluster', question: { verb: '*', group: '*', resource: '*' } },
  { what: 'read secrets in every namespace', question: { verb: 'get', group: '', resource: 'secrets' } },
  { what: 'grant roles', question: { verb: 'create', group: 'rbac.authorization.k8s.io', resource: 'rolebindings' } },
  {
    what: 'grant cluster-wide roles',
    question: { verb: 'create', group: 'rbac.authorization.k8s.io', resource: 'clusterrolebindings' },
  },
  { what: 'act for others', question: { verb: 'impersonate', group: '', resource: 'serviceaccounts' } },
  {
    what: 'change admission',
    question: beyondWrite('admissionregistration.k8s.io', 'validatingwebhookconfigurations'),
  },
  {
    what: 'change custom resource definitions',
    question: beyondWrite('apiextensions.k8s.io', 'customresourcedefinitions'),
  },
  { what: 'change namespaces', question: beyondWrite('', 'namespaces') },
  { what: 'write to every namespace', question: { verb: 'create', ...OBJECTS[0] } },
];

function beyondWrite(group: string, resource: string): AccessQuestion {
  return { verb: 'patch', group, resource };
}

/** In one namespace: what an account there has no use for. */
function beyondIn(namespace: string): readonly { readonly what: string; readonly question: AccessQuestion }[] {
  return [
    { what: `read secrets in ${namespace}`, question: { verb: 'get', group: '', resource: 'secrets', namespace } },
    { what: `make pods in ${namespace}`, question: { verb: 'create', group: '', resource: 'pods', namespace } },
    {
      what: `grant roles in ${namespace}`,
      question: { verb: 'create', group: 'rbac.authorization.k8s.io', resource: 'rolebindings', namespace },
    },
    {
      what: `write status in ${namespace}`,
      question: { verb: 'patch', ...OBJECTS[0], subresource: 'status', namespace },
    },
  ];
}

/** Asks for each verb of the specification's list, where it is needed. */
export async function probeRights(
  account: OwnAccount,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<SwitchProbe> {
  const questions: AccessQuestion[] = [
    ...CLUSTER_VERBS.map((verb) => ({
      verb,
      group: 'ops.service.io',
      resource: 'clusters',
      namespace: OPERATOR_NAMESPACE,
    })),
    ...namespaces.flatMap((namespace) =>
      OBJECTS.flatMap((object) => OBJECT_VERBS.map((verb) => ({ verb, ...object, namespace }))),
    ),
  ];
  const answers = await eachBounded(questions, async (question) => await account.may(question, signal));
  const missing = Map.groupBy(
    questions.filter((_question, index) => answers[index] === false),
    ({ resource, group, namespace }) => `${resource}.${group} in ${namespace ?? ''}`,
  );
  if (missing.size === 0) {
    const count = namespaces.length;
    const where = count === 1 ? '1 allowed namespace' : `${count} allowed namespaces`;
    return {
      name: 'rights',
      ok: true,
      message: `it may do all that push mode needs in ${where} and ${OPERATOR_NAMESPACE}`,
    };
  }
  const places = [...missing].map(([place, asked]) => `${asked.map(({ verb }) => verb).join(', ')} ${place}`);
  const message = `it may not ${listed(places)}: bind the role in each of these namespaces (servicectl clusters push-access)`;
  return { name: 'rights', ok: false, message };
}

/** Warns of rights beyond the specification's list. The usual dangerous ones are asked for; no server lists them all. */
export async function probeExcess(
  account: OwnAccount,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<SwitchProbe> {
  const asked = [...BEYOND, ...[OPERATOR_NAMESPACE, ...namespaces.slice(0, LISTED)].flatMap(beyondIn)];
  const answers = await eachBounded(asked, async ({ question }) => await account.may(question, signal));
  const found = asked.filter((_each, index) => answers[index] === true).map(({ what }) => what);
  const name = 'nothing-else';
  if (found.length === 0) return { name, ok: true, message: 'it has none of the dangerous rights that were asked for' };
  return {
    name,
    ok: true,
    message: `it may do more than push mode needs`,
    warning: `the account may also ${listed(found)}: give it the roles that servicectl clusters push-access prints, and nothing else`,
  };
}

export function listed(parts: readonly string[]): string {
  const rest = parts.length - LISTED;
  return `${parts.slice(0, LISTED).join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`;
}
