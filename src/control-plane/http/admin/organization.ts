import type { Kysely } from 'kysely';
import { Type, type Static } from 'typebox';
import {
  effectiveIntervals,
  ownIntervalsOf,
  RotationGraceSeconds,
  rotationGraceMs,
  settingsOf,
  type OrganizationSettings,
} from '../../organization-settings.ts';
import { appendAudit } from '../../store/audit.ts';
import type { Database, OrganizationRow } from '../../store/schema.ts';
import { configTopic } from '../../topics.ts';
import { answerOf, answers, Time } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { NotModified, requireMatch, sendTagged } from './entity-tag.ts';
import { changeIntervals, IntervalsAnswer, IntervalsChange, viewIntervals } from './intervals-change.ts';

const PatchOrganization = Type.Object(
  {
    intervals: Type.Optional(IntervalsChange),
    rotationGraceSeconds: Type.Optional(Type.Union([RotationGraceSeconds, Type.Null()])),
  },
  { additionalProperties: false },
);
type PatchOrganization = Static<typeof PatchOrganization>;

const OrganizationAnswer = answerOf('OrganizationAnswer', {
  id: Type.String(),
  name: Type.String(),
  intervals: IntervalsAnswer,
  rotationGraceSeconds: Type.Number(),
  createdAt: Time,
});
const show = {
  tags: ['organization'],
  operationId: 'getOrganization',
  summary: "The caller's own organization, and what its clusters follow",
  response: answers({ 200: OrganizationAnswer, 304: NotModified }),
};
const patch = {
  tags: ['organization'],
  operationId: 'updateOrganization',
  summary: 'Changes what clusters follow where nothing was set on them',
  body: PatchOrganization,
  response: answers({ 200: OrganizationAnswer }),
};

/** `GET`, `PATCH /organization`: the caller's own, and what its clusters follow where nothing was set on them. */
export function organizationRoutes(app: HttpServer, deps: AdminDeps): void {
  app.get('/organization', { schema: show }, async (request, reply) => {
    const row = await requireOrganization(deps.store.db, adminOf(request).organization.id);
    return await sendTagged(request, reply, { editable: settingsOf(row), answer: viewOrganization(row) });
  });

  app.patch('/organization', { schema: patch }, async (request, reply) => {
    const { organization, name } = adminOf(request);
    const changed = await deps.store.write(async (trx) => {
      const row = await requireOrganization(trx, organization.id);
      requireMatch(request, settingsOf(row), 'the organization');
      const settings = changeSettings(settingsOf(row), request.body);
      const text = JSON.stringify(settings);
      if (text === (row.settings ?? '{}')) return [];
      await trx.updateTable('organizations').set({ settings: text }).where('id', '=', row.id).execute();
      await appendAudit(trx, {
        organizationId: organization.id,
        at: deps.clock.now().toISOString(),
        source: 'user',
        kind: 'OrganizationUpdated',
        actor: name,
        summary: `settings of the organization are now ${text}`,
      });
      return await followSettings(trx, row.id, settings);
    });
    for (const id of changed) deps.wakeups.notify(configTopic(id));
    const row = await requireOrganization(deps.store.db, organization.id);
    return await sendTagged(request, reply, { editable: settingsOf(row), answer: viewOrganization(row) });
  });
}

function viewOrganization(row: OrganizationRow): Static<typeof OrganizationAnswer> {
  const settings = settingsOf(row);
  return {
    id: row.id,
    name: row.name,
    intervals: viewIntervals(effectiveIntervals(settings, {})),
    rotationGraceSeconds: rotationGraceMs(settings) / 1000,
    createdAt: row.created_at,
  };
}

function changeSettings(before: OrganizationSettings, change: PatchOrganization): OrganizationSettings {
  const { intervals: _intervals, rotationGraceSeconds: _grace, ...rest } = before;
  const intervals = changeIntervals(before.intervals ?? {}, change.intervals);
  const grace = change.rotationGraceSeconds === undefined ? before.rotationGraceSeconds : change.rotationGraceSeconds;
  return {
    ...rest,
    ...(Object.keys(intervals).length === 0 ? {} : { intervals }),
    ...(grace === undefined || grace === null ? {} : { rotationGraceSeconds: grace }),
  };
}

/** Gives every cluster what holds for it now. One statement for all clusters that have set the same of their own. */
async function followSettings(
  trx: Kysely<Database>,
  organizationId: string,
  settings: OrganizationSettings,
): Promise<string[]> {
  const owns = await trx
    .selectFrom('clusters')
    .select('own_intervals')
    .distinct()
    .where('organization_id', '=', organizationId)
    .execute();
  const changed: string[] = [];
  for (const own of owns) {
    const intervals = JSON.stringify(effectiveIntervals(settings, ownIntervalsOf(own)));
    const rows = await trx
      .updateTable('clusters')
      .set((eb) => ({ intervals, config_revision: eb('config_revision', '+', 1) }))
      .where('organization_id', '=', organizationId)
      .where('own_intervals', 'is not distinct from', own.own_intervals)
      .where('intervals', '!=', intervals)
      .returning('id')
      .execute();
    changed.push(...rows.map(({ id }) => id));
  }
  return changed;
}

async function requireOrganization(db: Kysely<Database>, id: string): Promise<OrganizationRow> {
  return await db.selectFrom('organizations').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}
