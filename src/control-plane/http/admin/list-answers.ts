import { Type } from 'typebox';
import { APPLICATION_HEALTHS } from '../../store/application-row.ts';
import { CLUSTER_HEALTHS } from '../../store/cluster-health.ts';
import { SAVED_LISTS } from '../../store/saved-filters.ts';
import { SEARCH_KINDS } from '../../store/search-row.ts';
import { answerOf, ConditionAnswer, listOf, oneOf, pageOf, Time } from '../openapi/answers.ts';
import { IntentState } from './intent-answers.ts';

const application = {
  clusterId: Type.String(),
  clusterSlug: Type.String(),
  namespace: Type.String(),
  name: Type.String(),
  catalogEntry: Type.Optional(Type.String()),
  version: Type.Optional(Type.String({ description: 'of the chart, as the newest intent has it' })),
  state: IntentState,
  health: oneOf(APPLICATION_HEALTHS),
  intentId: Type.String({ description: 'the newest intent that was not superseded' }),
  generation: Type.Integer(),
  action: oneOf(['install', 'update', 'uninstall']),
  reason: Type.Optional(Type.String({ description: 'why the intent stands where it stands' })),
  requestedBy: Type.String(),
  requestedAt: Time,
  observedVersion: Type.Optional(Type.String({ description: 'of the newest intent that became ready' })),
  newestAllowed: Type.Optional(Type.String({ description: "the newest version that the entry's range allows" })),
  isUpgradeAvailable: Type.Optional(Type.Boolean()),
};
export const ApplicationAnswer = answerOf('ApplicationAnswer', application);
export const ApplicationPageAnswer = pageOf(ApplicationAnswer);
export const ShownApplicationAnswer = answerOf('ShownApplicationAnswer', {
  ...application,
  conditions: listOf(ConditionAnswer),
});

const counts = <Name extends string>(names: readonly Name[]) =>
  Type.Object(
    Object.fromEntries(names.map((name) => [name, Type.Integer()])) as Record<Name, ReturnType<typeof Type.Integer>>,
  );
const byHealth = counts(CLUSTER_HEALTHS);

export const FleetAnswer = answerOf('FleetAnswer', {
  clusters: Type.Object({
    total: Type.Integer(),
    byHealth,
    byMode: counts(['pull', 'push', 'gitops']),
    byStatus: counts(['Pending', 'Active', 'Disabled']),
  }),
  intents: Type.Object({
    waiting: Type.Integer(),
    byState: counts(['accepted', 'proposed', 'delivered', 'applied']),
  }),
  approvals: Type.Object({ pending: Type.Integer() }),
  proposals: Type.Object({ open: Type.Integer() }),
  groups: Type.Optional(
    listOf(
      Type.Object({
        value: Type.Optional(Type.String({ description: 'absent: clusters without the label' })),
        clusters: Type.Integer(),
        byHealth,
      }),
    ),
  ),
  groupsLeftOut: Type.Optional(Type.Integer({ description: 'smaller groups than those that are listed' })),
});

export const SearchAnswer = answerOf('SearchAnswer', {
  items: listOf(
    answerOf('SearchItemAnswer', {
      kind: oneOf(SEARCH_KINDS),
      id: Type.String(),
      title: Type.String(),
      subtitle: Type.Optional(Type.String()),
      clusterSlug: Type.Optional(Type.String()),
      href: Type.String({ description: 'address in the page, from # on' }),
    }),
  ),
});

export const SavedFilterAnswer = answerOf('SavedFilterAnswer', {
  name: Type.String(),
  list: oneOf(SAVED_LISTS),
  query: Type.String({ description: 'as it stands in the address: label=env%3Dprod&health=degraded' }),
  shared: Type.Boolean(),
  owner: Type.String(),
  createdAt: Time,
  updatedAt: Time,
});
export const SavedFilterPageAnswer = pageOf(SavedFilterAnswer);
