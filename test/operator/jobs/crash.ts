import type { FaultRequest } from '../../../src/sandbox/faults.ts';
import type { SeenRequest } from '../fake-control-plane.ts';
import type { JobStage } from './job-stage.ts';

/** Whether the step that the crash strikes was carried out, without the operator hearing of it. */
export type CrashTime = 'before' | 'after';

/** Where the operator crashes: at a request to the cluster's API server, or at one to the control plane. */
export type CrashPoint =
  | { readonly at: 'cluster'; readonly when: CrashTime; readonly match: (request: FaultRequest) => boolean }
  | { readonly at: 'control plane'; readonly when: CrashTime; readonly match: (request: SeenRequest) => boolean };

/** The Lease alone is let through, so that the next process need not wait for it to run out. */
const isLease = ({ path }: { readonly path: string }): boolean => path.includes('/leases');

/**
 * From the first request that matches on the operator reaches nothing any more, as a process that is killed; then it is
 * stopped, and another one is started.
 */
export async function crashAndRestart(stage: JobStage, point: CrashPoint, cause: () => void): Promise<void> {
  const { plane, world } = stage;
  const { faults } = world.cluster.sandbox;
  const struck = Promise.withResolvers<void>();
  let isDead = false;
  const strike = (): void => {
    isDead = true;
    struck.resolve();
  };
  if (point.at === 'cluster') {
    faults.add({
      times: 1,
      cut: point.when,
      match: (request) => {
        if (isDead || !point.match(request)) return false;
        strike();
        return true;
      },
    });
  }
  faults.add({ cut: 'before', match: (request) => isDead && !isLease(request) });
  plane.intercept = (request, response) => {
    if (!isDead && point.at === 'control plane' && point.match(request)) {
      if (point.when === 'after') plane.queue.record(request.path, request.body);
      strike();
    }
    if (isDead) response.destroy();
    return isDead;
  };
  cause();
  await struck.promise;
  await stage.stop();
  faults.clear();
  plane.intercept = () => false;
  await stage.begin();
}

/** A request to the API server by its verb, and what its path ends with. */
export function kubeRequest(method: string, ending: string): (request: FaultRequest) => boolean {
  return (request) => request.method === method && request.path.endsWith(ending);
}

/** A request to the control plane by what its path ends with. */
export function agentRequest(ending: string): (request: SeenRequest) => boolean {
  return ({ path }) => path.endsWith(ending);
}
