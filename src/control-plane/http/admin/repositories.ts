import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { EntryName } from '../../../protocol/names.ts';
import { GIT_USERNAME } from '../../git/git-source.ts';
import { appendAudit } from '../../store/audit.ts';
import { insertGitCredential, mintGitCredential } from '../../store/git-credentials.ts';
import { findRepository, hostedName, listRepositories, localName } from '../../store/repositories.ts';
import type { RepositoryRow } from '../../store/schema.ts';
import { answerOf, answers, pageOf, Time } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { bodyMayBeAbsent } from './named-cluster.ts';
import { answerPage, PageQuery, readPage } from './page.ts';
import { RepositoryAnswer, repositoryProperties, viewRepository } from './repository-view.ts';

const DEFAULT_LIFETIME_SECONDS = 24 * 60 * 60;
const MAX_LIFETIME_SECONDS = 30 * 24 * 60 * 60;

const RepositoryParams = Type.Object({ name: EntryName });
const ReadCredentialRequest = Type.Object(
  { expiresInSeconds: Type.Optional(Type.Integer({ minimum: 60, maximum: MAX_LIFETIME_SECONDS })) },
  { additionalProperties: false },
);

const ReadCredentialAnswer = answerOf('ReadCredentialAnswer', {
  ...repositoryProperties,
  username: Type.String(),
  password: Type.String({ description: 'shown once' }),
  expiresAt: Time,
});
const list = {
  tags: ['repositories'],
  operationId: 'listRepositories',
  summary: 'Repositories, by name',
  querystring: PageQuery,
  response: answers({ 200: pageOf(RepositoryAnswer) }),
};
const issue = {
  tags: ['repositories'],
  operationId: 'issueReadCredential',
  summary: 'A credential that reads a repository of the own Git host',
  params: RepositoryParams,
  body: ReadCredentialRequest,
  response: answers({ 201: ReadCredentialAnswer }),
};

/** `GET /repositories`; `POST /repositories/{name}/read-credential`. */
export function repositoryRoutes(app: HttpServer, deps: AdminDeps): void {
  const view = (row: RepositoryRow) => viewRepository(row, deps.baseUrl());

  app.get('/repositories', { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const page = readPage(request.query, 's');
    const after = page.after === undefined ? undefined : hostedName(organization, String(page.after[0]));
    const answer = await answerPage(
      page,
      async (limit) => await listRepositories(deps.store.db, organization.id, { limit, after }),
      (row) => [localName(row)],
      view,
    );
    return await reply.send(answer);
  });

  const options = { schema: issue, preValidation: bodyMayBeAbsent };
  app.post('/repositories/:name/read-credential', options, async (request, reply) => {
    const { organization, name: actor } = adminOf(request);
    const repository = await findRepository(deps.store.db, organization, request.params.name);
    if (repository === undefined) throw new AppError('not_found', `there is no repository ${request.params.name}`);
    if (repository.embedded !== 1) {
      const message = `the repository ${request.params.name} is of another Git host: ask that for a token to read it`;
      throw new AppError('conflict', message);
    }
    const lifetimeMs = (request.body.expiresInSeconds ?? DEFAULT_LIFETIME_SECONDS) * 1000;
    const { row, token } = mintGitCredential(
      { repositoryId: repository.id, lifetimeMs, use: { access: 'read', clusterId: null } },
      deps,
    );
    await deps.store.write(async (trx) => {
      await insertGitCredential(trx, row);
      await appendAudit(trx, {
        organizationId: organization.id,
        at: row.created_at,
        source: 'user',
        kind: 'GitReadCredentialIssued',
        actor,
        summary: `read credential for repository ${request.params.name} issued, good until ${row.expires_at}`,
      });
    });
    return await reply.code(201).send({
      ...view(repository),
      username: GIT_USERNAME,
      password: token.expose(),
      expiresAt: row.expires_at,
    });
  });
}
