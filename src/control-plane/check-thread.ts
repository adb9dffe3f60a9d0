import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../runtime/clock.ts';
import type { CheckAnswer } from './values-check.ts';

/** `late`: it took longer than the limit, in milliseconds, and was ended. */
export type CheckOutcome = CheckAnswer | { readonly state: 'late'; readonly limitMs: number };

/** A check holds a schema and values of a mebibyte each. */
const MAX_HEAP_MB = 128;

// Its name ends as this file's does, which is compiled for a package.
const PROGRAM = new URL(`./values-check-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/**
 * A thread that judges values by schemas from outside, one after the other. One that takes longer than the limit is ended
 * with its thread, which nothing else can do to a regular expression, and the next check makes another.
 */
export class CheckThread implements AsyncDisposable {
  readonly #deps: { readonly clock: Clock; readonly limitMs: number };
  #worker: Worker | undefined;
  #isClosed = false;

  constructor(deps: { readonly clock: Clock; readonly limitMs: number }) {
    this.#deps = deps;
  }

  /** @param text a `ValuesCheck` as JSON */
  async judge(text: string): Promise<CheckOutcome> {
    const worker = (this.#worker ??= await startWorker());
    if (this.#isClosed) {
      await this.#end();
      return { state: 'failed', why: 'the program stops' };
    }
    const { clock, limitMs } = this.#deps;
    const ended = new AbortController();
    const answer = Promise.withResolvers<CheckOutcome>();
    let isSound = false;
    const onAnswer = (message: CheckAnswer): void => {
      isSound = true;
      answer.resolve(message);
    };
    // Of memory, or because the program stops.
    const onEnd = (): void => answer.resolve({ state: 'failed', why: 'that takes too much memory' });
    worker.once('message', onAnswer).once('error', onEnd).once('exit', onEnd);
    worker.ref();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
    worker.postMessage(text);
    const limit = clock.sleep(limitMs, ended.signal).then(
      async () => {
        // It may have passed because this side was busy: an answer that is here already counts.
        await nextTurn();
        answer.resolve({ state: 'late', limitMs });
      },
      () => undefined,
    );
    const outcome = await answer.promise;
    ended.abort();
    await limit;
    worker.off('message', onAnswer).off('error', onEnd).off('exit', onEnd);
    if (isSound) worker.unref();
    else await this.#end();
    return outcome;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    // What it still says when it ends is of no interest.
    worker?.on('error', () => undefined);
    await worker?.terminate();
  }
}

/** It gets nothing of this process: no environment, and no options meant for it. */
async function startWorker(): Promise<Worker> {
  const worker = new Worker(PROGRAM, {
    name: 'values-check',
    env: {},
    argv: [],
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  await once(worker, 'message');
  return worker;
}
