import { readFile } from 'node:fs/promises';

/** One request of the API server's audit log, as far as rights go. */
interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly requestURI: string;
  readonly objectRef?: {
    readonly resource: string;
    readonly apiGroup?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly subresource?: string;
  };
  readonly responseStatus?: { readonly code: number };
}

interface PolicyRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs?: readonly string[];
}

/** A role's rules, and where they hold: everywhere, or in some namespaces. */
export interface GrantedRules {
  readonly role: string;
  readonly namespaces: 'all' | readonly string[];
  readonly rules: readonly PolicyRule[];
}

/** One right of a rule: `<role>: <verb> <group>/<resource>[ <name>]`. */
interface Right {
  readonly id: string;
  readonly covers: (use: Use) => boolean;
}

interface Use {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

export interface Audit {
  readonly unused: readonly string[];
  readonly notGranted: readonly string[];
  readonly denied: readonly string[];
}

/** Compares what a user asked of the API server with what its roles grant. Discovery and health are everybody's. */
export async function auditRights(logPath: string, user: string, granted: readonly GrantedRules[]): Promise<Audit> {
  const lines = (await readFile(logPath, 'utf8')).split('\n').filter((line) => line !== '');
  const events = lines
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter((event) => event.user.username === user && event.objectRef !== undefined)
    // A watch that stands has no second stage yet.
    .filter(({ stage }) => stage === 'ResponseStarted' || stage === 'ResponseComplete');
  const rights = granted.flatMap(rightsOf);
  const used = new Set<string>();
  const notGranted = new Set<string>();
  const denied = new Set<string>();
  for (const event of events) {
    const uses = usesOf(event);
    const code = event.responseStatus?.code ?? 0;
    if (code === 401 || code === 403) {
      for (const use of uses) denied.add(`${describeUse(use)} (${code})`);
      continue;
    }
    for (const use of uses) {
      const covering = rights.filter((right) => right.covers(use));
      for (const { id } of covering) used.add(id);
      if (covering.length === 0) notGranted.add(describeUse(use));
    }
  }
  return {
    unused: rights.filter(({ id }) => !used.has(id)).map(({ id }) => id),
    notGranted: [...notGranted].sort(),
    denied: [...denied].sort(),
  };
}

/** A server-side apply that makes the object needs `create` beside `patch`. */
function usesOf({ verb, objectRef, responseStatus }: AuditEvent): readonly Use[] {
  const { resource = '', apiGroup = '', namespace = '', name = '', subresource } = objectRef ?? {};
  const use = {
    verb,
    group: apiGroup,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name,
  };
  return verb === 'patch' && responseStatus?.code === 201 ? [use, { ...use, verb: 'create' }] : [use];
}

function rightsOf({ role, namespaces, rules }: GrantedRules): readonly Right[] {
  return rules.flatMap(({ apiGroups = [], resources = [], resourceNames, verbs = [] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) =>
          (resourceNames === undefined ? [undefined] : familiesOf(resourceNames)).map((names) => ({
            id: `${role}: ${verb} ${group === '' ? '' : `${group}/`}${resource}${names === undefined ? '' : ` ${names.id}`}`,
            covers: (use: Use) =>
              use.verb === verb &&
              use.group === group &&
              use.resource === resource &&
              (names === undefined || names.all.includes(use.name)) &&
              (namespaces === 'all' || namespaces.includes(use.namespace)),
          })),
        ),
      ),
    ),
  );
}

/** Names that differ in a number at their end are one right: any of them serves as well as another. */
function familiesOf(names: readonly string[]): readonly { readonly id: string; readonly all: readonly string[] }[] {
  const families = Map.groupBy(names, (name) => name.replace(/\d+$/, 'N'));
  return [...families].map(([family, all]) => ({ id: all.length === 1 ? (all[0] ?? '') : family, all }));
}

function describeUse({ verb, group, resource, namespace, name }: Use): string {
  const where = namespace === '' ? 'cluster-wide' : `in ${namespace}`;
  return `${verb} ${group === '' ? '' : `${group}/`}${resource}${name === '' ? '' : ` ${name}`} ${where}`;
}
