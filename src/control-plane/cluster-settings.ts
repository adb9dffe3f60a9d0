import { Type, type Static } from 'typebox';
import { Intervals } from '../protocol/agent-config.ts';
import { compileParser } from '../protocol/parse.ts';
import type { ClusterRow } from './store/schema.ts';

/** What `/config` may tighten. Neither is on by default (specification, "Optional payload signing and encryption"). */
export const SecuritySettings = Type.Object({
  requireSignedPayloads: Type.Boolean(),
  requireEncryptedSecretPayloads: Type.Boolean(),
});
export type SecuritySettings = Static<typeof SecuritySettings>;

/** Those that are left out keep what they are. */
export const SecurityChange = Type.Partial(SecuritySettings, { additionalProperties: false });
export type SecurityChange = Static<typeof SecurityChange>;

export const DEFAULT_SECURITY: SecuritySettings = {
  requireSignedPayloads: false,
  requireEncryptedSecretPayloads: false,
};

const parseIntervals = compileParser(Intervals);
const parseSecurity = compileParser(SecuritySettings);
const parseNames = compileParser(Type.Array(Type.String()));

/** Longest intervals: a credential lives 30 days; a heartbeat an hour late is told of after three. */
export const MAX_ROTATE_SECONDS = 30 * 86_400;
export const MAX_HEARTBEAT_SECONDS = 3600;

/** Longer ones, which an earlier version took, count as the longest that there may be. */
export function intervalsOf(cluster: Pick<ClusterRow, 'intervals'>): Intervals {
  return withinBounds(parseIntervals(JSON.parse(cluster.intervals)));
}

export function withinBounds(intervals: Intervals): Intervals {
  return {
    ...intervals,
    rotate_seconds: Math.min(intervals.rotate_seconds, MAX_ROTATE_SECONDS),
    heartbeat_seconds: Math.min(intervals.heartbeat_seconds, MAX_HEARTBEAT_SECONDS),
  };
}

export function securityOf(cluster: Pick<ClusterRow, 'security'>): SecuritySettings {
  return parseSecurity(JSON.parse(cluster.security));
}

/** One of a cluster's three lists of what is allowed. */
export function namesIn(json: string): string[] {
  return parseNames(JSON.parse(json));
}
