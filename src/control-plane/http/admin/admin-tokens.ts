import type { Kysely } from 'kysely';
import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { refusal } from '../../../protocol/parse.ts';
import { hashToken, mintToken } from '../../../protocol/token.ts';
import { CONFIGURED_ADMIN } from '../../first-start.ts';
import { RoleName } from '../../git/git-settings.ts';
import {
  deleteAdminToken,
  findAdminToken,
  hasAdminToken,
  listAdminTokens,
  type AdminIdentity,
} from '../../store/admin-tokens.ts';
import { appendAudit } from '../../store/audit.ts';
import type { AdminTokenRow, Database } from '../../store/schema.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ifKnown } from './cluster-view.ts';
import { answerPage, PageQuery, readPage } from './page.ts';

/** The actor in audit log and commits. One person, one name: who has two counts twice where approvals are counted. */
const TokenName = Type.String({
  pattern: '^[a-z0-9]([a-z0-9._@-]{0,98}[a-z0-9])?$',
  description:
    "lower-case letters, digits, '.', '_', '@' and '-', at most 100, starting and ending with a letter or digit",
});
const TokenParams = Type.Object({ token: TokenName });

const CreateToken = Type.Object(
  {
    name: TokenName,
    roles: Type.Optional(Type.Array(RoleName, { maxItems: 20 })),
    expiresInSeconds: Type.Optional(Type.Integer({ minimum: 60, maximum: 10 * 365 * 86_400 })),
  },
  { additionalProperties: false },
);

/** `GET`, `POST /admin-tokens`; `DELETE /admin-tokens/{name}`. A token is shown when it is made and never again. */
export function adminTokenRoutes(app: HttpServer, deps: AdminDeps): void {
  const { store, clock } = deps;

  app.get('/admin-tokens', { schema: { querystring: PageQuery } }, async (request, reply) => {
    const { organization } = adminOf(request);
    const page = readPage(request.query, 's');
    const after = page.after === undefined ? undefined : String(page.after[0]);
    return await reply.send(
      await answerPage(
        page,
        async (limit) => await listAdminTokens(store.db, organization.id, { limit, after }),
        ({ name }) => [name],
        (row) => viewToken(row, clock.now()),
      ),
    );
  });

  app.post('/admin-tokens', { schema: { body: CreateToken } }, async (request, reply) => {
    const admin = adminOf(request);
    const { name, roles: asked = [], expiresInSeconds } = request.body;
    if (name === CONFIGURED_ADMIN) {
      throw refusal([
        { path: '/name', message: `${name} is the name of the token in SERVICE_ADMIN_TOKEN; take another` },
      ]);
    }
    const token = mintToken('svcadm', deps.randomBytes);
    const now = clock.now();
    const roles = [...new Set(asked)].sort();
    const row: AdminTokenRow = {
      token_hash: hashToken(token.expose()),
      organization_id: admin.organization.id,
      name,
      roles: JSON.stringify(roles),
      created_at: now.toISOString(),
      expires_at:
        expiresInSeconds === undefined ? null : new Date(now.getTime() + expiresInSeconds * 1000).toISOString(),
    };
    await store.write(async (trx) => {
      await lockOrganization(trx, admin);
      if ((await findAdminToken(trx, admin.organization.id, name)) !== undefined) {
        const message = `there is an admin token ${name} already; delete it first or choose another name`;
        throw new AppError('conflict', message, { faults: [{ path: '/name', message: 'is taken' }] });
      }
      await trx.insertInto('admin_tokens').values(row).execute();
      const as = roles.length === 0 ? 'without a role' : `with roles ${roles.join(', ')}`;
      const until = row.expires_at === null ? '' : `, until ${row.expires_at}`;
      await audit(trx, admin, row.created_at, 'AdminTokenCreated', `admin token ${name} made ${as}${until}`);
    });
    return await reply.code(201).send({ ...viewToken(row, now), token: token.expose() });
  });

  app.delete('/admin-tokens/:token', { schema: { params: TokenParams } }, async (request, reply) => {
    const admin = adminOf(request);
    const name = request.params.token;
    await store.write(async (trx) => {
      await lockOrganization(trx, admin);
      if ((await findAdminToken(trx, admin.organization.id, name)) === undefined) {
        throw new AppError('not_found', `there is no admin token ${name}`);
      }
      if (name === CONFIGURED_ADMIN) {
        const message = `admin token ${name} is set by SERVICE_ADMIN_TOKEN: take it out of the environment and restart`;
        throw new AppError('conflict', message);
      }
      if (!(await hasAdminToken(trx, admin.organization.id, clock.now(), name))) {
        const message = `admin token ${name} is the last one: nobody could come in any more. Make another one first`;
        throw new AppError('conflict', message);
      }
      await deleteAdminToken(trx, admin.organization.id, name);
      const at = clock.now().toISOString();
      await audit(
        trx,
        admin,
        at,
        'AdminTokenDeleted',
        `admin token ${name} deleted; what it approved no longer counts`,
      );
    });
    return await reply.code(204).send();
  });
}

/** Of two that make or delete tokens at once, the second sees what the first did. */
async function lockOrganization(trx: Kysely<Database>, { organization }: AdminIdentity): Promise<void> {
  await trx
    .updateTable('organizations')
    .set((eb) => ({ name: eb.ref('name') }))
    .where('id', '=', organization.id)
    .execute();
}

async function audit(
  trx: Kysely<Database>,
  { organization, name: actor }: AdminIdentity,
  at: string,
  kind: string,
  summary: string,
): Promise<void> {
  await appendAudit(trx, { organizationId: organization.id, at, source: 'user', kind, actor, summary });
}

function viewToken(row: AdminTokenRow, now: Date) {
  return {
    name: row.name,
    roles: JSON.parse(row.roles ?? '[]') as string[],
    createdAt: row.created_at,
    ...ifKnown('expiresAt', row.expires_at),
    expired: row.expires_at !== null && row.expires_at <= now.toISOString(),
  };
}
