import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { refusal } from '../../../protocol/parse.ts';
import { changeStream, type Followed } from '../../changes/change-stream.ts';
import { readableTexts } from '../../changes/readable-texts.ts';
import { CHANGE_RESOURCES } from '../../store/changes.ts';
import { answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf, authenticateAdmin } from './authenticate.ts';
import { requireClusterId } from './named-cluster.ts';

/** Streams of one name, as many tabs and terminals, of one organization, so that none takes those of all, and of all. */
const MAX_OF_ONE = 32;
const MAX_OF_ORGANIZATION = 250;
const MAX_STREAMS = 1000;

const ChangesQuery = Type.Object(
  {
    resource: Type.Optional(
      Type.String({
        pattern: '^[a-z-]{1,40}(,[a-z-]{1,40}){0,31}$',
        description: `which to tell of, with commas between them: ${CHANGE_RESOURCES.join(', ')}; default all`,
      }),
    ),
    cluster: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'id or slug of a cluster' })),
    after: Type.Optional(
      Type.Integer({ minimum: 0, description: 'the last id that was seen, where no Last-Event-ID is sent' }),
    ),
  },
  { additionalProperties: false },
);

const SCHEMA = {
  tags: ['changes'],
  operationId: 'followChanges',
  summary: 'What changes, as it changes: a stream of server-sent events',
  querystring: ChangesQuery,
  response: answers({
    200: {
      description:
        'Events "change" with {resource, id?, clusterId?} and "reset", when what was missed is not known any more; a comment every 15 s.',
      content: { 'text/event-stream': { schema: Type.String() } },
    },
  }),
};

/** `GET /changes?resource=&cluster=&after=`. */
export function changeRoutes(app: HttpServer, deps: AdminDeps): void {
  const { store, clock, changeLog: log } = deps;
  const streams = new Map<string, number>();
  let total = 0;
  deps.measuring?.read('service_change_streams', () => total);

  // Without HEAD, for which the stream would be read to its end, which never comes.
  app.get('/changes', { schema: SCHEMA, exposeHeadRoute: false }, async (request, reply) => {
    const admin = adminOf(request);
    const followed = await readFollowed(deps, request, request.query);
    const key = `${admin.organization.id}/${admin.name}`;
    const own = streams.get(key) ?? 0;
    const all = streams.get(admin.organization.id) ?? 0;
    if (own >= MAX_OF_ONE || all >= MAX_OF_ORGANIZATION || total >= MAX_STREAMS) {
      const isFull = all >= MAX_OF_ORGANIZATION;
      const whose = own >= MAX_OF_ONE ? `${admin.name} has ${own}` : `there are ${isFull ? all : total}`;
      throw new AppError('rate_limited', `${whose} open streams of changes, which is as many as there may be`, {
        retryAfterSeconds: 15,
      });
    }
    const held = [key, admin.organization.id];
    for (const one of held) streams.set(one, (streams.get(one) ?? 0) + 1);
    total += 1;
    const gone = new AbortController();
    const mayGoOn = async (): Promise<boolean> => {
      try {
        const now = await authenticateAdmin(deps, request.headers);
        return now.organization.id === admin.organization.id && now.scopes.has('read');
      } catch (error) {
        // Without the database nobody knows; the next heartbeat asks again.
        return !(error instanceof AppError) || error.code === 'unavailable' || error.status >= 500;
      }
    };
    const stop = AbortSignal.any([gone.signal, app.closing]);
    const texts = changeStream({ store, log, clock, mayGoOn }, followed, stop);
    const body = readableTexts(texts, clock);
    // Whoever has gone ends its wait, and with that the stream.
    reply.raw.once('close', () => gone.abort(new Error('the client has gone')));
    body.once('close', () => {
      total -= 1;
      for (const one of held) {
        const left = (streams.get(one) ?? 1) - 1;
        if (left === 0) streams.delete(one);
        else streams.set(one, left);
      }
    });
    return await reply
      .header('content-type', 'text/event-stream')
      .header('x-accel-buffering', 'no')
      // It is of no use afterwards, and would keep a server that closes waiting.
      .header('connection', 'close')
      .send(body);
  });
}

async function readFollowed(
  { store }: AdminDeps,
  request: FastifyRequest,
  query: { readonly resource?: string; readonly cluster?: string; readonly after?: number },
): Promise<Followed> {
  const { organization } = adminOf(request);
  const named = query.resource?.split(',');
  const unknown = named?.find((name) => !(CHANGE_RESOURCES as readonly string[]).includes(name));
  if (unknown !== undefined) {
    const message = `there are no changes of ${unknown}`;
    throw refusal([{ path: '/resource', message, allowed: CHANGE_RESOURCES }]);
  }
  return {
    organizationId: organization.id,
    resources: named === undefined ? undefined : new Set(named),
    clusterId:
      query.cluster === undefined ? undefined : await requireClusterId(store.db, organization.id, query.cluster),
    after: readLastId(request.headers['last-event-id']) ?? query.after,
  };
}

function readLastId(header: string | string[] | undefined): number | undefined {
  if (header === undefined || header === '') return undefined;
  const id = typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
  if (id === undefined) {
    throw refusal([{ path: '/headers/last-event-id', message: 'must be the id of an event of this stream' }]);
  }
  return id;
}
