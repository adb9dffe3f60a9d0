import type { Kysely } from 'kysely';
import { Type, type Static } from 'typebox';
import { DEFAULT_INTERVALS, Intervals } from '../protocol/agent-config.ts';
import { compileParser } from '../protocol/parse.ts';
import { withinBounds } from './cluster-settings.ts';
import type { ClusterRow, Database, OrganizationRow } from './store/schema.ts';

/** Specification, "Limits". */
export const DEFAULT_ROTATION_GRACE_SECONDS = 86_400;

/** At least as long as an operator may need to save its new credential; at most a week, as a stolen one lives on so long. */
export const RotationGraceSeconds = Type.Integer({ minimum: 60, maximum: 604_800 });

/** `organizations.settings`: what was set, and nothing of what was not. */
export const OrganizationSettings = Type.Object({
  intervals: Type.Optional(Type.Partial(Intervals)),
  rotationGraceSeconds: Type.Optional(RotationGraceSeconds),
});
export type OrganizationSettings = Static<typeof OrganizationSettings>;

const parseSettings = compileParser(OrganizationSettings);
const parseOwnIntervals = compileParser(Type.Partial(Intervals));

export function settingsOf(organization: Pick<OrganizationRow, 'settings'>): OrganizationSettings {
  return organization.settings === null ? {} : parseSettings(JSON.parse(organization.settings));
}

export async function findSettings(db: Kysely<Database>, organizationId: string): Promise<OrganizationSettings> {
  return settingsOf(
    await db.selectFrom('organizations').select('settings').where('id', '=', organizationId).executeTakeFirstOrThrow(),
  );
}

/** The intervals that were set on the cluster itself. */
export function ownIntervalsOf(cluster: Pick<ClusterRow, 'own_intervals'>): Partial<Intervals> {
  return cluster.own_intervals === null ? {} : parseOwnIntervals(JSON.parse(cluster.own_intervals));
}

/** What holds for a cluster: its own, else its organization's, else the defaults. */
export function effectiveIntervals(settings: OrganizationSettings, own: Partial<Intervals>): Intervals {
  return withinBounds({ ...DEFAULT_INTERVALS, ...settings.intervals, ...own });
}

/** How long a credential is still accepted after its first rotation. */
export function rotationGraceMs(settings: OrganizationSettings): number {
  return (settings.rotationGraceSeconds ?? DEFAULT_ROTATION_GRACE_SECONDS) * 1000;
}
