import rateLimit from '@fastify/rate-limit';
import type { FastifyRequest, RouteShorthandOptions } from 'fastify';
import { AppError } from '../../../protocol/app-error.ts';
import type { HttpServer } from '../server.ts';
import { RateCounters } from './rate-counters.ts';

/**
 * Most requests in a window, over all routes of a group: per credential in 10 s, `register` per address in a minute
 * (decisions, "Errors").
 */
export interface RateLimits {
  /** Of jobs and of the configuration: both are held, and one waits for the other's change. */
  readonly polls: number;
  /** Acks, statuses and results. */
  readonly writes: number;
  readonly events: number;
  readonly register: number;
  /** Per cluster and minute. */
  readonly rotate: number;
  /** Per address and minute, whatever cluster it is for; each cluster has a limit of its own besides. */
  readonly recover: number;
}

/** After a restore a whole fleet recovers at once, and much of it may come through one address. */
export const RECOVERIES_PER_REGISTRATION = 6;

export const DEFAULT_RATE_LIMITS: RateLimits = {
  polls: 60,
  writes: 1000,
  events: 100,
  register: 20,
  rotate: 20,
  recover: 20 * RECOVERIES_PER_REGISTRATION,
};

interface Window {
  readonly ms: number;
  readonly of: string;
  readonly key: (request: FastifyRequest) => string;
}

const PER_CREDENTIAL: Window = {
  ms: 10_000,
  of: 'credential',
  // Behind authentication: who presents no credential of ours never gets here.
  key: (request) => request.agent?.credentialId ?? request.ip,
};

const WINDOWS: Readonly<Record<keyof RateLimits, Window>> = {
  polls: PER_CREDENTIAL,
  writes: PER_CREDENTIAL,
  events: PER_CREDENTIAL,
  register: { ms: 60_000, of: 'address', key: (request) => request.ip },
  rotate: { ms: 60_000, of: 'cluster', key: (request) => request.agent?.cluster.id ?? request.ip },
  recover: { ms: 60_000, of: 'address', key: (request) => request.ip },
};

/** Call before the routes. Counts are this process's own: behind two replicas a client may reach twice the limit. */
export function countRequests(app: HttpServer): void {
  app.register(rateLimit, {
    global: false,
    store: RateCounters,
    addHeaders: {
      'x-ratelimit-limit': false,
      'x-ratelimit-remaining': false,
      'x-ratelimit-reset': false,
      'retry-after': false,
    },
    addHeadersOnExceeding: { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false },
  });
}

/** The part of a route's options that limits it. Over the limit: 429 `rate_limited` with `Retry-After` in seconds. */
export function limited(limits: RateLimits, group: keyof RateLimits): Pick<RouteShorthandOptions, 'config'> {
  const { ms, of, key } = WINDOWS[group];
  const max = limits[group];
  return {
    config: {
      rateLimit: {
        max,
        timeWindow: ms,
        keyGenerator: key,
        groupId: group,
        errorResponseBuilder: (_request, { ttl }) =>
          new AppError('rate_limited', `more than ${max} requests of this ${of} within ${ms / 1000} s`, {
            retryAfterSeconds: ttl / 1000,
          }),
      },
    },
  };
}
