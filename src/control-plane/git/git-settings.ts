import { Type, type Static } from 'typebox';
import { PruneBreaker } from '../../protocol/agent-config.ts';
import { compileParser } from '../../protocol/parse.ts';
import type { ClusterRow } from '../store/schema.ts';

/** Lower-case, as in a CODEOWNERS team: `platform`, `security`. */
export const RoleName = Type.String({ pattern: '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$' });

/** Who must approve: `count` people, and of those so many with each role. The author is never one of them. */
export const RequiredApprovals = Type.Object(
  {
    count: Type.Integer({ minimum: 0, maximum: 20 }),
    roles: Type.Optional(
      Type.Record(RoleName, Type.Integer({ minimum: 1, maximum: 20 }), {
        maxProperties: 20,
        additionalProperties: false,
      }),
    ),
  },
  { additionalProperties: false },
);
export type RequiredApprovals = Static<typeof RequiredApprovals>;

/** Both: as many people and as many of each role as the one or the other asks for. */
export function strictest(one: RequiredApprovals, other: RequiredApprovals): RequiredApprovals {
  const roles = { ...one.roles };
  for (const [role, count] of Object.entries(other.roles ?? {})) roles[role] = Math.max(count, roles[role] ?? 0);
  const count = Math.max(one.count, other.count);
  return Object.keys(roles).length === 0 ? { count } : { count, roles };
}

/** `clusters.git_settings`: what was set, and nothing of what was not. */
export const GitSettings = Type.Object(
  {
    review: Type.Optional(Type.Union([Type.Literal('direct'), Type.Literal('proposal')])),
    requiredApprovals: Type.Optional(RequiredApprovals),
    /** `automatic`: the approval that was still missing merges. */
    merge: Type.Optional(Type.Union([Type.Literal('automatic'), Type.Literal('manual')])),
    pruneOnRemoval: Type.Optional(Type.Boolean()),
    pruneBreaker: Type.Optional(PruneBreaker),
    requireSignedCommits: Type.Optional(Type.Boolean()),
    /** What becomes of a file of ours that somebody else edited or deleted in Git. */
    outsideEdits: Type.Optional(Type.Union([Type.Literal('report'), Type.Literal('restore')])),
  },
  { additionalProperties: false },
);
export type GitSettings = Static<typeof GitSettings>;

/** A third of the objects and more than three, or all of them. */
export const DEFAULT_PRUNE_BREAKER: PruneBreaker = { fraction: 1 / 3, objects: 3 };

const parseSettings = compileParser(GitSettings);

/** What holds for a cluster. */
export function gitSettingsOf(cluster: Pick<ClusterRow, 'git_settings'>): Required<GitSettings> {
  const set = cluster.git_settings === null ? {} : parseSettings(JSON.parse(cluster.git_settings));
  return {
    review: 'direct',
    requiredApprovals: { count: 1 },
    merge: 'automatic',
    pruneOnRemoval: false,
    pruneBreaker: DEFAULT_PRUNE_BREAKER,
    requireSignedCommits: false,
    outsideEdits: 'report',
    ...set,
  };
}
