import { Type, type Static } from 'typebox';
import { LABEL_NAME_PATTERN } from '../../label-selector.ts';
import { CLUSTER_HEALTHS } from '../../store/cluster-health.ts';
import { countFleet, countUndecided, countWaiting, type FleetCount } from '../../store/fleet-counts.ts';
import { WAITING_STATES } from '../../store/waiting.ts';
import { answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { CLUSTER_FILTERS, readClusterFilter } from './cluster-filters.ts';
import { FleetAnswer } from './list-answers.ts';

/** Groups that are listed, the largest first. */
const MAX_GROUPS = 200;

const FleetQuery = Type.Object(
  {
    ...CLUSTER_FILTERS,
    groupBy: Type.Optional(Type.String({ pattern: LABEL_NAME_PATTERN, description: 'the name of a label' })),
  },
  { additionalProperties: false },
);
const fleet = {
  tags: ['clusters'],
  operationId: 'getFleet',
  summary: 'The fleet in numbers: clusters by health, mode and status, and what waits',
  querystring: FleetQuery,
  response: answers({ 200: FleetAnswer }),
};

/** `GET /fleet`: the filters are of the clusters; what waits is counted for the whole organization. */
export function fleetRoute(app: HttpServer, { store }: Pick<AdminDeps, 'store'>): void {
  app.get('/fleet', { schema: fleet }, async (request, reply) => {
    const { organization } = adminOf(request);
    const { groupBy, ...filters } = request.query;
    const counted = await countFleet(store.db, readClusterFilter(organization.id, filters), groupBy);
    const waiting = await countWaiting(store.db, organization.id);
    const { approvals, proposals } = await countUndecided(store.db, organization.id);
    const answer: Static<typeof FleetAnswer> = {
      clusters: {
        total: sum(counted),
        byHealth: tally(CLUSTER_HEALTHS, counted, ({ health }) => health),
        byMode: tally(['pull', 'push', 'gitops'], counted, ({ mode }) => mode),
        byStatus: tally(['Pending', 'Active', 'Disabled'], counted, ({ status }) => status),
      },
      intents: {
        waiting: [...waiting.values()].reduce((all, count) => all + count, 0),
        byState: Object.fromEntries(WAITING_STATES.map((state) => [state, waiting.get(state) ?? 0])) as never,
      },
      approvals: { pending: approvals },
      proposals: { open: proposals },
      ...(groupBy === undefined ? {} : groupsOf(counted)),
    };
    return await reply.send(answer);
  });
}

function groupsOf(counted: readonly FleetCount[]): Pick<Static<typeof FleetAnswer>, 'groups' | 'groupsLeftOut'> {
  const groups = [...Map.groupBy(counted, ({ value }) => value)]
    .map(([value, some]) => ({
      ...(value === null ? {} : { value }),
      clusters: sum(some),
      byHealth: tally(CLUSTER_HEALTHS, some, ({ health }) => health),
    }))
    .sort((a, b) => b.clusters - a.clusters || ((a.value ?? '') < (b.value ?? '') ? -1 : 1));
  const left = groups.length - MAX_GROUPS;
  return { groups: groups.slice(0, MAX_GROUPS), ...(left > 0 ? { groupsLeftOut: left } : {}) };
}

function sum(counted: readonly FleetCount[]): number {
  return counted.reduce((all, { count }) => all + count, 0);
}

function tally<Name extends string>(
  names: readonly Name[],
  counted: readonly FleetCount[],
  nameOf: (one: FleetCount) => Name,
): Record<Name, number> {
  const of = (name: Name): number => sum(counted.filter((one) => nameOf(one) === name));
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Record<Name, number>;
}
