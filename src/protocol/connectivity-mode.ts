import { Type } from 'typebox';

/** How intent reaches a cluster (specification, "What the service does"). Status always returns by `/api/agent/events`. */
export const CONNECTIVITY_MODES = ['pull', 'push', 'gitops'] as const;
export type ConnectivityMode = (typeof CONNECTIVITY_MODES)[number];
export const ConnectivityMode = Type.Unsafe<ConnectivityMode>({
  type: 'string',
  enum: [...CONNECTIVITY_MODES],
  description: 'How intent reaches the cluster.',
});
