import { Type, type Static } from 'typebox';
import { parseLabelSelector } from '../../label-selector.ts';
import { CLUSTER_HEALTHS } from '../../store/cluster-health.ts';
import type { ClusterFilter } from '../../store/cluster-lists.ts';
import { oneOf } from '../openapi/answers.ts';

/** What clusters are found by, in every list of them. */
export const CLUSTER_FILTERS = {
  q: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'a part of the slug or the display name' }),
  ),
  label: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2000,
      description: 'a selector as of kubectl: team=shop,env!=dev,tier in (a,b),!retired',
    }),
  ),
  mode: Type.Optional(oneOf(['pull', 'push', 'gitops'])),
  status: Type.Optional(oneOf(['Pending', 'Active', 'Disabled'])),
  health: Type.Optional(oneOf(CLUSTER_HEALTHS)),
};
const Filters = Type.Object(CLUSTER_FILTERS);

/** @throws AppError `constraint_violated` for a selector that cannot be read */
export function readClusterFilter(organizationId: string, query: Static<typeof Filters>): ClusterFilter {
  const { q: text, label, mode, status, health } = query;
  const labels = label === undefined ? [] : parseLabelSelector(label);
  return { organizationId, text, labels, mode, status, health };
}
