import { Type } from 'typebox';
import { clusterDirectory, manifestPathFor, tombstonePath } from '../../../delivery/gitops/layout.ts';
import { AppError } from '../../../protocol/app-error.ts';
import { EntryName, NamespaceName, ObjectName } from '../../../protocol/names.ts';
import { refusal } from '../../../protocol/parse.ts';
import { APPLICATION_INSTANCE_KIND } from '../../../resources/application-instance.ts';
import { OPERATION_KIND } from '../../../resources/operation.ts';
import { trustedSigners } from '../../../git/signing/commit-signature.ts';
import { describeCommits } from '../../history/describe-commits.ts';
import type { GitCommit } from '../../history/git-commit.ts';
import { findDeletedCluster } from '../../store/cluster-admin.ts';
import { findRepository } from '../../store/repositories.ts';
import type { RepositoryRow } from '../../store/schema.ts';
import { answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { commitStory, signatureOf, viewCommit } from './commit-view.ts';
import { requireCluster } from './named-cluster.ts';
import { cursorAfter, PageQuery, readPage } from './page.ts';
import { BlameAnswer, CommitPageAnswer, DiffAnswer, WholeCommitAnswer } from './history-answers.ts';

const RepositoryParams = Type.Object({ name: EntryName });
/** `HEAD`, the branch's name, an id or its beginning: which of them is judged with the repository at hand. */
const CommitId = Type.String({ minLength: 1, maxLength: 200 });
const CommitParams = Type.Object({ name: EntryName, commit: CommitId });
const ClusterName = Type.String({ minLength: 1, maxLength: 64, description: 'id or slug of a cluster' });
const Kind = Type.Unsafe<'ApplicationInstance' | 'Operation'>({
  type: 'string',
  enum: [APPLICATION_INSTANCE_KIND, OPERATION_KIND],
});

const CommitsQuery = Type.Object(
  {
    ...PageQuery.properties,
    cluster: Type.Optional(ClusterName),
    namespace: Type.Optional(NamespaceName),
    objectName: Type.Optional(ObjectName),
  },
  { additionalProperties: false },
);
const DiffQuery = Type.Object(
  { from: CommitId, to: CommitId, cluster: Type.Optional(ClusterName) },
  { additionalProperties: false },
);
const BlameQuery = Type.Object(
  { cluster: ClusterName, namespace: NamespaceName, name: ObjectName, kind: Type.Optional(Kind) },
  { additionalProperties: false },
);
const MAX_SKIP = 10_000_000;

const listCommits = {
  tags: ['history'],
  operationId: 'listCommits',
  summary: 'Commits of a repository, the newest first',
  params: RepositoryParams,
  querystring: CommitsQuery,
  response: answers({ 200: CommitPageAnswer }),
};
const showCommit = {
  tags: ['history'],
  operationId: 'getCommit',
  summary: 'One commit, what it changed and what became of its intent',
  params: CommitParams,
  response: answers({ 200: WholeCommitAnswer }),
};
const diff = {
  tags: ['history'],
  operationId: 'getDiff',
  summary: 'What differs between two commits',
  params: RepositoryParams,
  querystring: DiffQuery,
  response: answers({ 200: DiffAnswer }),
};
const blame = {
  tags: ['history'],
  operationId: 'getBlame',
  summary: "Which commit brought each line of an object's file",
  params: RepositoryParams,
  querystring: BlameQuery,
  response: answers({ 200: BlameAnswer }),
};

/**
 * History of a repository: `GET /repositories/{name}/commits`, `…/commits/{id}`, `…/diff`, `…/blame`. It is Git's own word;
 * what the control plane knows of an intent stands beside it.
 */
export function historyRoutes(app: HttpServer, deps: AdminDeps): void {
  const { db } = deps.store;
  const repositoryOf = async (request: { readonly admin: Parameters<typeof adminOf>[0]['admin'] }, name: string) => {
    const { organization } = adminOf(request);
    const repository = await findRepository(db, organization, name);
    if (repository === undefined) throw new AppError('not_found', `there is no repository ${name}`);
    return { repository, organizationId: organization.id };
  };
  const describe = async (organizationId: string, commits: readonly GitCommit[]) => {
    const signers = trustedSigners(await deps.commitSigning.allowedSigners(organizationId));
    return await describeCommits(db, organizationId, commits, signers);
  };

  app.get('/repositories/:name/commits', { schema: listCommits }, async (request, reply) => {
    const { repository, organizationId } = await repositoryOf(request, request.params.name);
    const page = readPage(request.query, 'sn');
    const after = readPosition(page.after);
    const paths = await pathsOf(deps, repository, request.query);
    const limit = page.limit + 1;
    const { tip, commits } = await deps.history.commits(repository.id, { paths, limit, after });
    const shown = await describe(organizationId, commits.slice(0, page.limit));
    const next = cursorAfter([tip, (after?.skip ?? 0) + page.limit]);
    return await reply.send({
      items: shown.map(viewCommit),
      ...(commits.length > page.limit ? { nextCursor: next } : {}),
    });
  });

  app.get('/repositories/:name/commits/:commit', { schema: showCommit }, async (request, reply) => {
    const { repository, organizationId } = await repositoryOf(request, request.params.name);
    const id = namedCommit(request.params.commit, repository, '/commit');
    const found = await deps.history.commit(repository.id, id);
    if (found === undefined) throw new AppError('not_found', `there is no commit ${id}, or several begin with it`);
    const [commit] = await describe(organizationId, [{ ...found.commit, bytes: found.bytes }]);
    if (commit === undefined) throw new Error('a commit was described by nothing');
    return await reply.send({
      ...viewCommit(commit),
      ...(await commitStory(deps, commit)),
      signature: await signatureOf(deps, organizationId, found.bytes),
      ...found.patches,
    });
  });

  app.get('/repositories/:name/diff', { schema: diff }, async (request, reply) => {
    const { repository } = await repositoryOf(request, request.params.name);
    const { cluster } = request.query;
    const from = namedCommit(request.query.from, repository, '/from');
    const to = namedCommit(request.query.to, repository, '/to');
    const paths = await pathsOf(deps, repository, cluster === undefined ? {} : { cluster });
    const found = await deps.history.diff(repository.id, { from, to, paths });
    if (found === undefined) throw new AppError('not_found', `there is no commit ${from}, or no ${to}`);
    return await reply.send(found);
  });

  app.get('/repositories/:name/blame', { schema: blame }, async (request, reply) => {
    const { repository, organizationId } = await repositoryOf(request, request.params.name);
    const { cluster, namespace, name, kind = APPLICATION_INSTANCE_KIND } = request.query;
    const row = await requireCluster(db, organizationId, cluster);
    const path = `${clusterDirectory(repository.layout, row.slug)}/${manifestPathFor({ kind, namespace, name })}`;
    const blamed = row.repository_id === repository.id ? await deps.history.blame(repository.id, path) : undefined;
    if (blamed === undefined)
      throw new AppError('not_found', `there is no ${path} in repository ${request.params.name}`);
    const commits = await describe(organizationId, [...blamed.commits.values()]);
    const lines = blamed.lines.map(({ commit, text }, index) => ({ line: index + 1, commit, text }));
    return await reply.send({ path, lines, commits: commits.map(viewCommit) });
  });
}

/** `HEAD` for the tip of the branch, else what Git can look up as an id and as nothing else. */
function namedCommit(text: string, { branch }: RepositoryRow, path: string): string {
  if (text === 'HEAD' || text === branch) return 'HEAD';
  if (/^[0-9a-f]{7,40}$/.test(text)) return text;
  const forms = ['a commit id', 'its first 7 characters or more', 'HEAD', branch];
  throw refusal([
    { path, message: `must be a commit id, its first 7 characters or more, HEAD or ${branch}`, allowed: forms },
  ]);
}

function readPosition(key: readonly (string | number)[] | undefined) {
  if (key === undefined) return undefined;
  const [tip, skip] = [String(key[0]), Number(key[1])];
  if (/^[0-9a-f]{40}$/.test(tip) && Number.isInteger(skip) && skip >= 0 && skip <= MAX_SKIP) return { tip, skip };
  throw refusal([{ path: '/cursor', message: 'is not a cursor of this list; take nextCursor of an earlier page' }]);
}

/** Where the object of a question stands or stood: in either layout, since a repository may have been moved. */
async function pathsOf(
  deps: Pick<AdminDeps, 'store'>,
  repository: RepositoryRow,
  asked: { readonly cluster?: string; readonly namespace?: string; readonly objectName?: string },
): Promise<readonly string[]> {
  const { cluster, namespace, objectName: name } = asked;
  if (cluster === undefined) {
    if (namespace === undefined && name === undefined) return [];
    throw refusal([{ path: '/cluster', message: 'belongs to namespace and objectName' }]);
  }
  if (namespace === undefined && name !== undefined) {
    throw refusal([{ path: '/namespace', message: 'belongs to objectName' }]);
  }
  const deleted = await findDeletedCluster(deps.store.db, repository.organization_id, cluster);
  const { slug } = deleted ?? (await requireCluster(deps.store.db, repository.organization_id, cluster));
  const inside =
    namespace === undefined
      ? ['']
      : name === undefined
        ? ['apps', 'operations', 'tombstones'].map((folder) => `/${folder}/${namespace}`)
        : [
            ...[APPLICATION_INSTANCE_KIND, OPERATION_KIND].map((kind) => manifestPathFor({ kind, namespace, name })),
            tombstonePath({ namespace, name }),
          ].map((path) => `/${path}`);
  return (['flat', 'sharded'] as const).flatMap((layout) =>
    inside.map((path) => `${clusterDirectory(layout, slug)}${path}`),
  );
}
