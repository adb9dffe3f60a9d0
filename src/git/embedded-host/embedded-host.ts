import type { IncomingMessage, ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { CommitSigner } from '../commit-object.ts';
import { ProjectionMaintenance } from '../projection/projection-maintenance.ts';
import type { ProjectionSigner } from '../projection/projected-commit.ts';
import { Projections } from '../projection/projections.ts';
import { Admission, claimOf } from './admission.ts';
import { answer, unauthorized } from './answer-git.ts';
import { backendEnvironment } from './backend-environment.ts';
import { directoryChanges } from './directory-changes.ts';
import type { GitAccess, GitAuthorization } from './git-access.ts';
import { isRepositoryName, parseGitRequest, tokenOf, type SmartRequest } from './git-request.ts';
import { httpBackendProgram, runHttpBackend, type BackendEnd } from './http-backend.ts';
import { exists, SERVING_SETTINGS, setUpRepository } from './repository-setup.ts';
import type { ReceivePushDeps } from './receive-push.ts';
import { servePush } from './serve-push.ts';
import { refusedBody, takeBody } from './taken-body.ts';
import { tidyRepository } from './tidy-repository.ts';
import { Turns } from './turns.ts';
import { WrittenBranches } from './written-branches.ts';

export interface EmbeddedHostDeps {
  /** Folder of the bare repositories. */
  readonly root: string;
  /** What `token` may do in `repository`; `undefined` for a token that nobody knows. */
  readonly authorize: (request: {
    readonly repository: string;
    readonly token: string;
  }) => Promise<GitAuthorization | undefined>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Git processes at once; eight times as many pushes wait, and as many reads; what is beyond gets 503. */
  readonly maxProcesses: number;
  /** One request, its wait for a process included. */
  readonly timeoutMs: number;
  /** Called before a repository is made or used: refuses where another process has its repositories elsewhere. */
  readonly claimRoot?: () => Promise<void>;
  /** Signs the commits of projections. */
  readonly signProjection?: ProjectionSigner;
  /** Of one request, as sent. Default 256 MiB. */
  readonly maxBodyBytes?: number;
}

/** What git sends to ask for objects; a push is bounded by `maxBodyBytes`. */
const MAX_FETCH_BYTES = 16 * 1024 * 1024;

/**
 * Serves bare repositories over smart HTTP at `/git/<name>.git`: reading through `git http-backend`, a push by
 * `receivePush`. It is handed the raw requests under `/git/`; it answers every one of them itself, errors as plain text
 * that `git` shows to its user.
 */
export class EmbeddedHost implements AsyncDisposable {
  readonly #deps: EmbeddedHostDeps;
  readonly #root: string;
  readonly #maxBodyBytes: number;
  readonly #admission: Admission;
  readonly #stopping = new AbortController();
  readonly #open = new Set<Promise<void>>();
  readonly #turns = new Turns();
  readonly #branches = new WrittenBranches();
  readonly #projections: Projections;
  readonly #maintenance: ProjectionMaintenance;

  constructor(deps: EmbeddedHostDeps) {
    this.#deps = deps;
    this.#root = resolve(deps.root);
    this.#maxBodyBytes = deps.maxBodyBytes ?? 256 * 1024 * 1024;
    this.#admission = new Admission(deps.maxProcesses);
    this.#projections = new Projections({ ...deps, root: this.#root, sign: deps.signProjection });
    this.#maintenance = new ProjectionMaintenance({
      projections: this.#projections,
      tidy: async (name, signal) => await this.tidy(name, signal),
      logger: deps.logger,
    });
  }

  /** Makes the repository unless it is there: bare, with a root commit on `branch`, the only branch that is written. */
  async ensureRepository(
    name: string,
    options: { readonly branch: string; readonly sign?: CommitSigner },
  ): Promise<void> {
    await this.#deps.claimRoot?.();
    await setUpRepository({
      path: this.repositoryPath(name),
      branch: options.branch,
      sign: options.sign,
      now: this.#deps.clock.now(),
    });
  }

  /** Folder of the bare repository. @throws on a name that could leave the root */
  repositoryPath(name: string): string {
    if (!isRepositoryName(name)) throw new Error(`${JSON.stringify(name)} is not a repository name`);
    return join(this.#root, `${name}.git`);
  }

  /** Whether the repository is there. */
  async has(name: string): Promise<boolean> {
    return await exists(join(this.repositoryPath(name), 'HEAD'));
  }

  /** Packs what pushes have left as single objects; to be called now and then, say once an hour, for each repository. */
  async tidy(name: string, signal: AbortSignal): Promise<void> {
    const path = this.repositoryPath(name);
    // It is made when the first intent is delivered.
    if (!(await exists(path))) return;
    const settings: readonly (readonly [string, string])[] = [...SERVING_SETTINGS, ['safe.directory', path]];
    await tidyRepository({ path, settings, now: this.#deps.clock.now(), signal });
  }

  /** Packs the projections that pushes have left in many pieces, and takes away those of no cluster of `wanted`. */
  async tidyProjections(wanted: () => Promise<ReadonlySet<string>>, signal: AbortSignal): Promise<void> {
    await this.#maintenance.turn(wanted, signal);
  }

  /** Answers one request under `/git/`. Never rejects: a fault is logged and answered. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const serving = this.#serve(request, response).catch((error: unknown) => {
      this.#deps.logger.error({ err: error, url: request.url?.split('?')[0] }, 'git request failed');
      answer(request, response, 500, 'The Git host failed; its log says why.');
    });
    this.#track(serving);
    await serving;
  }

  #track(work: Promise<void>): void {
    this.#open.add(work);
    void work.finally(() => this.#open.delete(work));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort(new Error('the Git host is stopping'));
    // Work that ends may leave clearing away behind.
    while (this.#open.size > 0) await Promise.all(this.#open);
    this.#projections[Symbol.dispose]();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = parseGitRequest(request.method ?? 'GET', request.url ?? '/');
    const token = tokenOf(request.headers.authorization);
    if (token === undefined)
      return unauthorized(request, response, 'A Git credential is needed: any user name, the token as password.');
    if (asked.kind === 'not-found') return answer(request, response, 404, 'No such repository.');
    if (asked.kind === 'method-not-allowed') {
      response.setHeader('allow', asked.allow);
      return answer(request, response, 405, `Only ${asked.allow} is allowed here.`);
    }
    if (asked.kind === 'dumb') {
      return answer(request, response, 403, 'Only the smart HTTP protocol is served; use Git 1.6.6 or later.');
    }
    const access = await this.#deps.authorize({ repository: asked.repository, token });
    if (access === undefined)
      return unauthorized(request, response, 'The Git credential is unknown, expired or revoked.');
    if (access.access === 'none' || !(await this.#isThere(asked.repository, access))) {
      return answer(request, response, 404, 'No such repository.');
    }
    if (asked.service === 'git-receive-pack' && access.access === 'read') {
      return answer(request, response, 403, 'This credential may only read. The control plane alone writes here.');
    }
    if (asked.service === 'git-upload-pack' && access.access === 'write' && access.pushesOnly === true) {
      return answer(request, response, 403, 'This credential may only push.');
    }
    await this.#run(asked, access, token, request, response);
  }

  /** A projection is made when it is first read; it is there when what it is made of is. */
  async #isThere(repository: string, access: GitAccess): Promise<boolean> {
    const name = access.access === 'read' ? (access.projection?.repository ?? repository) : repository;
    return await this.has(name);
  }

  async #run(
    asked: SmartRequest,
    access: GitAccess,
    token: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const encoding = request.headers['content-encoding'] ?? 'identity';
    if (!['identity', 'gzip', 'x-gzip'].includes(encoding)) {
      return answer(request, response, 415, 'Only gzip is understood as Content-Encoding.');
    }
    const isPush = asked.service === 'git-receive-pack';
    const maxBytes = isPush ? this.#maxBodyBytes : Math.min(this.#maxBodyBytes, MAX_FETCH_BYTES);
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
      return answer(request, response, 413, `The ${isPush ? 'push' : 'request'} is larger than ${maxBytes} bytes.`);
    }
    const ended = new AbortController();
    const onClose = (): void => ended.abort(new Error('the client went away'));
    response.once('close', onClose);
    const timer = new AbortController();
    const expiry = this.#deps.clock.sleep(this.#deps.timeoutMs, timer.signal).then(
      () => ended.abort(new Error(`not done within ${this.#deps.timeoutMs} ms`)),
      () => undefined,
    );
    const signal = AbortSignal.any([ended.signal, this.#stopping.signal]);
    try {
      const claim = { ...claimOf(asked, access, token), signal };
      using place = await this.#admission.open.acquire(claim);
      if (place === undefined) return busy(request, response);
      await using body =
        asked.step === 'exchange'
          ? await takeBody({ request, maxBytes, folder: this.#root, clock: this.#deps.clock, signal })
          : undefined;
      using slot = await this.#admission.processes.acquire(claim);
      if (slot === undefined) return busy(request, response);
      if (access.access === 'read' && access.projection !== undefined) {
        await this.#projections.bringUpToDate(access.projection, signal);
      }
      const path = this.repositoryPath(asked.repository);
      const settings: readonly (readonly [string, string])[] = [...SERVING_SETTINGS, ['safe.directory', path]];
      const end =
        isPush && body !== undefined
          ? await servePush({
              body: body.stream,
              response,
              gzip: encoding !== 'identity',
              push: {
                repository: path,
                ref: await this.#branches.of(path),
                scope: access.access === 'write' ? access.scope : [],
                ...(access.access === 'write' && access.moves !== undefined ? { moves: access.moves } : {}),
                maxPackBytes: this.#maxBodyBytes,
                settings,
                signal,
                now: this.#deps.clock.now(),
                inTurn: this.#turns.taker(path),
                stillAllowed: async () => await this.#mayWrite(asked.repository, token),
                afterwards: (work) => this.#track(work),
                ...this.#follower(asked.repository, access),
              },
            })
          : await runHttpBackend({
              program: await httpBackendProgram(),
              environment: backendEnvironment({ root: this.#root, asked, request, settings, encoding }),
              body: body?.stream,
              response,
              signal,
            });
      this.#finish(asked, end, request, response);
    } catch (error) {
      const isGone = signal.aborted || (request.destroyed && !request.complete);
      const end = isGone ? ({ state: 'aborted', detail: String(signal.reason ?? error) } as const) : refusedBody(error);
      if (end === undefined) throw error;
      this.#finish(asked, end, request, response);
    } finally {
      response.off('close', onClose);
      timer.abort();
      await expiry;
    }
  }

  async #mayWrite(repository: string, token: string): Promise<boolean> {
    return (await this.#deps.authorize({ repository, token }))?.access === 'write';
  }

  #follower(repository: string, access: GitAccess): Pick<ReceivePushDeps, 'follow'> {
    const projections = access.access === 'write' ? access.projections : undefined;
    const [first] = projections?.values() ?? [];
    if (projections === undefined || first === undefined) return {};
    return {
      follow: async ({ log, ...push }) => {
        const changes = directoryChanges(log, projections);
        await this.#projections.follow({ ...push, repository, branch: first.branch, changes });
        this.#track(this.#maintenance.tidyCrowded(this.#stopping.signal));
      },
    };
  }

  #finish(asked: SmartRequest, end: BackendEnd, request: IncomingMessage, response: ServerResponse): void {
    const { repository, service, step } = asked;
    if (end.state === 'answered') {
      this.#deps.logger.debug({ repository, service, step, status: end.status }, 'git request served');
      response.end();
      return;
    }
    this.#deps.logger.warn(
      { repository, service, step, state: end.state, detail: end.detail },
      'git request not served',
    );
    // Half an answer must not look like a whole one.
    if (response.headersSent) response.destroy();
    else if (end.state === 'body-too-large') answer(request, response, 413, `The push was not taken: ${end.detail}.`);
    else if (end.state === 'too-slow') answer(request, response, 408, `The request was given up: ${end.detail}.`);
    else if (end.state === 'malformed') answer(request, response, 400, `The push cannot be read: ${end.detail}.`);
    else answer(request, response, end.state === 'aborted' ? 503 : 500, 'The Git host did not finish this request.');
  }
}

function busy(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('retry-after', '2');
  answer(request, response, 503, 'The Git host is busy; try again.');
}
