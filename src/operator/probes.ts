import { createServer } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { CONNECTIVITY_MODES, type ConnectivityMode } from '../protocol/connectivity-mode.ts';
import { CONNECTION_LIMITS, requestLimits, type ConnectionLimits } from './connection-limits.ts';
import type { ContactState } from './contact.ts';
import { metricLines } from './metrics.ts';
import { openSharedPort } from './shared-port.ts';

export interface ProbesDeps {
  readonly listen: { readonly host: string; readonly port: number };
  /** Why the operator is not ready, or undefined when it is. */
  readonly notReady: () => string | undefined;
  /** Whether this replica holds the Lease. */
  readonly leads: () => boolean;
  readonly connectivity: () => { readonly mode: ConnectivityMode; readonly state: ContactState } | undefined;
  readonly droppedEvents: () => number;
  /** When the credential in use ends, where that is known. */
  readonly credentialExpiresAt?: () => Date | undefined;
  /** What answers TLS at the same address, once it can, and its metrics. */
  readonly secure?: () => SecureServer | undefined;
  readonly moreMetrics?: () => string;
  readonly limits?: ConnectionLimits;
}

export interface Probes extends AsyncDisposable {
  readonly url: string;
}

const STATES: readonly ContactState[] = ['connected', 'reconnecting', 'disconnected'];

/** Serves `/healthz`, `/readyz` and `/metrics`. @throws when the address cannot be listened on */
export async function startProbes(deps: ProbesDeps): Promise<Probes> {
  const { listen, limits = CONNECTION_LIMITS } = deps;
  const options = { ...requestLimits(limits), keepAliveTimeout: limits.idleMs };
  const server = createServer(options, (request, response) => {
    const { status, type, body } = answer(request.url ?? '/', deps);
    response.writeHead(status, { 'content-type': type }).end(body);
  });
  server.timeout = limits.idleMs;
  return await openSharedPort({ listen, plain: server, secure: () => deps.secure?.(), limits });
}

function answer(
  url: string,
  deps: ProbesDeps,
): { readonly status: number; readonly type: string; readonly body: string } {
  const type = 'text/plain; charset=utf-8';
  switch (url.replace(/\?.*$/, '')) {
    case '/healthz':
      return { status: 200, type, body: 'ok\n' };
    case '/readyz': {
      const reason = deps.notReady();
      return reason === undefined ? { status: 200, type, body: 'ok\n' } : { status: 503, type, body: `${reason}\n` };
    }
    case '/metrics':
      return {
        status: 200,
        type: 'text/plain; version=0.0.4; charset=utf-8',
        body: metricsText(deps) + (deps.moreMetrics?.() ?? ''),
      };
    default:
      return { status: 404, type, body: 'here are /healthz, /readyz and /metrics\n' };
  }
}

/** Prometheus text format 0.0.4. */
export function metricsText(
  deps: Pick<ProbesDeps, 'leads' | 'connectivity' | 'droppedEvents' | 'credentialExpiresAt'>,
): string {
  const now = deps.connectivity();
  const modes = now === undefined ? [] : CONNECTIVITY_MODES.filter((mode) => mode === now.mode);
  const series = modes.flatMap((mode) =>
    STATES.map((state) => [{ mode, state }, state === now?.state ? 1 : 0] as const),
  );
  const expiresAt = deps.credentialExpiresAt?.();
  return [
    metricLines('service_operator_leader', [[{}, deps.leads() ? 1 : 0]]),
    metricLines('service_operator_connectivity', series),
    metricLines('service_operator_events_dropped_total', [[{}, deps.droppedEvents()]]),
    metricLines(
      'service_operator_credential_end_seconds',
      expiresAt === undefined ? [] : [[{}, Math.floor(expiresAt.getTime() / 1000)]],
    ),
  ].join('');
}
