import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { EntryName } from '../../../protocol/names.ts';
import { keepsLayout, whyGivenUp } from '../../store/layout-given-up.ts';
import { findRepository, findRepositoryById, localName } from '../../store/repositories.ts';
import type { RepositoryRow } from '../../store/schema.ts';
import { answerOf, answers, listOf, oneOf } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';

const LayoutParams = Type.Object({ name: EntryName });
const LayoutRequest = Type.Object(
  {
    layout: Type.Unsafe<'flat' | 'sharded'>({ type: 'string', enum: ['flat', 'sharded'] }),
    dryRun: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

/** Of one answer; a move that takes longer goes on, and is asked for again. */
const ANSWER_TIMEOUT_MS = 60_000;
const MAX_SHOWN = 100;

const Layout = oneOf(['flat', 'sharded']);
const LayoutAnswer = answerOf('LayoutAnswer', {
  name: Type.String(),
  from: Layout,
  to: Layout,
  state: oneOf(['planned', 'unchanged', 'moving', 'moved']),
  directories: Type.Integer(),
  collisions: Type.Optional(listOf(Type.String({ description: 'what stands in the way' }))),
});
const move = {
  tags: ['repositories'],
  operationId: 'moveRepositoryLayout',
  summary: 'Moves the directories of all clusters to another layout',
  params: LayoutParams,
  body: LayoutRequest,
  response: answers({ 200: LayoutAnswer, 202: LayoutAnswer }),
};

/** `POST /repositories/{name}/layout`. */
export function repositoryLayoutRoute(app: HttpServer, deps: AdminDeps): void {
  app.post('/repositories/:name/layout', { schema: move }, async (request, reply) => {
    const { organization, name: actor } = adminOf(request);
    const { layout: to, dryRun = false } = request.body;
    const repository = await findRepository(deps.store.db, organization, request.params.name);
    if (repository === undefined) throw new AppError('not_found', `there is no repository ${request.params.name}`);
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const view = { name: localName(repository), from: repository.layout, to };
    const { directories, collisions } = await deps.layoutMoves.plan(repository.id, to, signal);
    const shown = collisions.slice(0, MAX_SHOWN);
    if (dryRun) return await reply.send({ ...view, state: 'planned', directories, collisions: shown });
    if (collisions.length > 0) throw inTheWay(to, shown);
    if (repository.layout === to && repository.layout_move === null) {
      return await reply.send({ ...view, state: 'unchanged', directories });
    }
    await refuseOpenRequests(deps, repository);
    // False: it is on the move already, which is then to be ended first.
    await deps.layoutMoves.begin(repository, { to, requestedBy: actor });
    const ended = await deps.layoutMoves.finish(repository.id, signal);
    const now = ended ? await findRepositoryById(deps.store.db, repository.id) : undefined;
    if (now === undefined || now.layout_move !== null) {
      return await reply.code(202).send({ ...view, state: 'moving', directories });
    }
    if (now.layout !== to) throw await givenUp(deps, now);
    return await reply.send({ ...view, state: 'moved', directories });
  });
}

/** Another host may run a hook that holds us to directories: this one push changes all of them. */
async function givenUp(deps: AdminDeps, repository: RepositoryRow): Promise<AppError> {
  const why = await whyGivenUp(deps.store.db, repository);
  const hook = repository.embedded === 1 ? '' : '. Where a hook of your own refused it, take it away for this one push';
  return new AppError('conflict', `${keepsLayout(repository)}${why === undefined ? '' : `: ${why}`}${hook}`);
}

function inTheWay(to: string, collisions: readonly string[]): AppError {
  const message = `the repository cannot be moved to the ${to} layout: ${collisions.slice(0, 3).join('; ')}; move that away first`;
  return new AppError('conflict', message, { faults: collisions.map((text) => ({ path: '/layout', message: text })) });
}

/** Their branches hold the old places, and another host would merge them there. The embedded host renders them anew. */
async function refuseOpenRequests(deps: AdminDeps, repository: RepositoryRow): Promise<void> {
  if (repository.embedded === 1) return;
  const open = await deps.store.db
    .selectFrom('proposals')
    .select('branch')
    .where('repository_id', '=', repository.id)
    .where('state', 'in', ['open', 'merging'])
    .limit(MAX_SHOWN)
    .execute();
  if (open.length === 0) return;
  throw new AppError('conflict', 'proposals are open on the Git host, for the places that would be left', {
    faults: open.map(({ branch }) => ({ path: '/layout', message: `merge, reject or supersede ${branch} first` })),
  });
}
