import { session } from '../session.ts';
import { ApiError, type ErrorBody } from './api-error.ts';
import { backoff } from './backoff.ts';
import { connection } from './connection.ts';
import { SseParser, type ServerEvent } from './sse-parser.ts';

const POLL_MS = 15_000;
const FIRST_MS = 500;
const MOST_MS = 30_000;
/** One that is cut sooner is not followed by another at once. */
const STEADY_MS = 10_000;
/** The control plane says something every 15 s: a stream that is silent for so long is dead. */
const SILENCE_MS = 45_000;

/** What changed. Without an id: something of that kind. */
export interface Change {
  readonly resource: string;
  readonly id?: string;
  readonly clusterId?: string;
}

/** Undefined: anything may have changed, look at everything again. */
export type ChangeListener = (change: Change | undefined) => void;
export type LiveState = 'connecting' | 'live' | 'polling';

const listeners = new Set<ChangeListener>();
const stateListeners = new Set<() => void>();
let state: LiveState = 'connecting';
let stop: AbortController | undefined;
/** Where to go on after a break. */
let last: string | undefined;

/** Changes as they happen, over one stream for the whole tab; where there is none, a look every 15 s. */
export const live = {
  state: (): LiveState => state,

  subscribeState: (listener: () => void): (() => void) => {
    stateListeners.add(listener);
    return () => void stateListeners.delete(listener);
  },

  subscribe: (listener: ChangeListener): (() => void) => {
    listeners.add(listener);
    if (stop === undefined) start();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) queueMicrotask(() => listeners.size === 0 && end());
    };
  },
};

function tell(change: Change | undefined): void {
  for (const listener of listeners) listener(change);
}

function setState(next: LiveState): void {
  if (state === next) return;
  state = next;
  for (const listener of stateListeners) listener();
}

function start(): void {
  // A tab that nobody sees holds no connection: a browser has six of them for all tabs together.
  if (document.visibilityState === 'hidden' || listeners.size === 0) return;
  stop = new AbortController();
  void run(stop.signal);
}

function end(): void {
  stop?.abort();
  stop = undefined;
}

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') end();
  else if (stop === undefined) start();
});

session.subscribe(() => {
  last = undefined;
  end();
  start();
});

async function run(signal: AbortSignal): Promise<void> {
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    if (state !== 'polling') setState('connecting');
    await untilOnline(signal);
    if (signal.aborted) return;
    const began = Date.now();
    let wait: number;
    try {
      await follow(signal);
      if (Date.now() - began > STEADY_MS) attempt = 0;
      setState('connecting');
      wait = backoff(attempt, FIRST_MS, MOST_MS);
    } catch (error) {
      if (signal.aborted) return;
      if (Date.now() - began > STEADY_MS) attempt = 0;
      const refused = error instanceof ApiError;
      if (refused && error.status === 401) return;
      // Not there, too many of them, or not allowed: looked at again instead.
      if (refused) setState('polling');
      else {
        setState('connecting');
        connection.lost();
      }
      wait = refused ? POLL_MS : backoff(attempt, FIRST_MS, MOST_MS);
      if (refused) tell(undefined);
    }
    await pause(wait, signal);
  }
}

async function follow(signal: AbortSignal): Promise<void> {
  const { token = '', organization } = session.state();
  const silence = new AbortController();
  const both = AbortSignal.any([signal, silence.signal]);
  // Where something else finds that nothing answers, a stream that says nothing is no sign that all is well.
  const stopWatching = connection.subscribe(() => connection.state().online || silence.abort());
  try {
    await followWhile(both, silence, { token, organization });
  } finally {
    stopWatching();
  }
}

async function followWhile(
  both: AbortSignal,
  silence: AbortController,
  { token, organization }: { readonly token: string; readonly organization: string | undefined },
): Promise<void> {
  const answer = await fetch('/api/v1/changes', {
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'text/event-stream',
      ...(organization === undefined ? {} : { 'service-organization': organization }),
      ...(last === undefined ? {} : { 'last-event-id': last }),
    },
    signal: both,
    cache: 'no-store',
  });
  if (!answer.ok || answer.body === null) {
    const refused = new ApiError(answer.status, (await answer.json().catch(() => ({}))) as ErrorBody);
    if (answer.status === 401) session.close(refused.message, token);
    throw refused;
  }
  connection.works();
  setState('live');
  // What happened before the stream stood was not told.
  if (last === undefined) tell(undefined);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new SseParser();
  for (;;) {
    const timer = setTimeout(() => silence.abort(), SILENCE_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    for (const event of parser.push(value)) take(event);
  }
}

function take({ event, data, id }: ServerEvent): void {
  if (id !== undefined) last = id;
  if (event === 'reset') {
    if (id === undefined) last = undefined;
    tell(undefined);
  }
  if (event === 'change') tell(JSON.parse(data) as Change);
}

/** While nothing answers, `connection` asks; the stream is back as soon as there is an answer. */
async function untilOnline(signal: AbortSignal): Promise<void> {
  if (connection.state().online) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      stopWaiting();
      resolve();
    };
    const stopWaiting = connection.subscribe(() => connection.state().online && done());
    signal.addEventListener('abort', done, { once: true });
  });
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
