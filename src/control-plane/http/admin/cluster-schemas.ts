import { Type, type Static } from 'typebox';
import { ConnectivityMode } from '../../../protocol/connectivity-mode.ts';
import { EntryName, NamespaceName, Slug } from '../../../protocol/names.ts';
import { GitChange } from './git-change.ts';
import { IntervalsChange } from './intervals-change.ts';
import { SecurityChange } from '../../cluster-settings.ts';
import { KubeconfigText } from '../../push/read-kubeconfig.ts';

const strict = { additionalProperties: false } as const;

const DisplayName = Type.String({
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]{1,200}$',
  description: 'one line of 1 to 200 characters without control characters',
});

// Not `uniqueItems`: its errors take the square of the length, and are looked for in a list that is too long already.
const listOf = <T extends ReturnType<typeof Type.String>>(item: T, maxItems: number) =>
  Type.Refine(
    Type.Array(item, { maxItems }),
    (list) => new Set(list).size === list.length,
    () => 'must not have duplicate items',
  );

const LabelChange = Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()]), {
  description: 'merged into the labels that there are: name to value; null takes a label away',
});

const lists = {
  allowedNamespaces: listOf(NamespaceName, 1000),
  allowedCatalogEntries: listOf(EntryName, 1000),
  allowedOperationTemplates: listOf(EntryName, 100),
};

export const CreateCluster = Type.Object(
  {
    slug: Slug,
    displayName: DisplayName,
    labels: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'name to value, as of Kubernetes' }),
    ),
    ...lists,
    connectivityMode: Type.Optional(ConnectivityMode),
    intervals: Type.Optional(IntervalsChange),
    security: Type.Optional(SecurityChange),
    git: Type.Optional(Type.Object({ repository: Type.Optional(EntryName), ...GitChange.properties }, strict)),
    /** Of a cluster in push mode; it can be given later. */
    push: Type.Optional(Type.Object({ kubeconfig: KubeconfigText }, strict)),
  },
  strict,
);
export type CreateCluster = Static<typeof CreateCluster>;

export const PatchCluster = Type.Object(
  {
    displayName: Type.Optional(DisplayName),
    labels: Type.Optional(LabelChange),
    allowedNamespaces: Type.Optional(lists.allowedNamespaces),
    allowedCatalogEntries: Type.Optional(lists.allowedCatalogEntries),
    allowedOperationTemplates: Type.Optional(lists.allowedOperationTemplates),
    /** What is asked for in them is delivered once somebody else approved it. */
    approvalNamespaces: Type.Optional(listOf(NamespaceName, 1000)),
    /** null: follows the organization in all of them. */
    intervals: Type.Optional(Type.Union([IntervalsChange, Type.Null()])),
    security: Type.Optional(SecurityChange),
    /** Of a cluster in gitops mode. */
    git: Type.Optional(GitChange),
    requireClientCertificate: Type.Optional(
      Type.Boolean({ description: 'whether writes of the operator need its client certificate' }),
    ),
    deliverIntents: Type.Optional(
      Type.Boolean({ description: 'in pull mode: jobs of kind intent, which the operator renders itself' }),
    ),
    operatorVersion: Type.Optional(
      Type.Union([Type.String({ minLength: 1, maxLength: 64 }), Type.Null()], {
        description: 'the version that the operator is to run, like 0.2.0; null asks for none',
      }),
    ),
  },
  strict,
);
export type PatchCluster = Static<typeof PatchCluster>;
