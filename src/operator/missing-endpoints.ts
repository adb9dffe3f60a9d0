import type { Condition } from '../protocol/condition.ts';
import { Reason } from '../resources/reasons.ts';
import type { AgentAnswer } from './agent-answer.ts';
import type { AgentCall } from './agent-client.ts';
import { AGENT_PATHS } from './agent-paths.ts';

export interface MissingEndpointsDeps {
  readonly baseUrl: () => string;
  /** As it stands in the status, from an earlier process too. */
  readonly isStalled: () => boolean;
  readonly set: (condition: Omit<Condition, 'lastTransitionTime'>) => void;
}

/** Besides those of a single job. Registration and rotation tell of their refusals themselves; the others may be absent. */
const REQUIRED: readonly string[] = [AGENT_PATHS.events, AGENT_PATHS.jobs];

/**
 * The only writer of `Stalled` on this operator's Cluster: True while the control plane answers that it has no such endpoint
 * where the specification has one. A job that is gone is another 404, and none of this one's business.
 */
export class MissingEndpoints {
  readonly #deps: MissingEndpointsDeps;
  readonly #missing = new Set<string>();

  constructor(deps: MissingEndpointsDeps) {
    this.#deps = deps;
  }

  note({ method, path }: Pick<AgentCall, 'method' | 'path'>, answer: AgentAnswer): void {
    const [place = ''] = path.split('?');
    const isRequired = REQUIRED.includes(place) || place.startsWith(`${AGENT_PATHS.jobs}/`);
    if (!isRequired || answer.state === 'unavailable') return;
    const endpoint = `${method} ${place.replace(/^(\/api\/agent\/jobs\/)[^/]+/, '$1{jobId}')}`;
    const isMissing = answer.state === 'refused' && answer.code === 'not_found';
    const isOver = answer.state === 'ok' && this.#missing.size === 0 && this.#deps.isStalled();
    if (isMissing === this.#missing.has(endpoint) && !isOver) return;
    if (isMissing) this.#missing.add(endpoint);
    else this.#missing.delete(endpoint);
    this.#tell();
  }

  /** Another address is asked from now on. */
  moved(): void {
    this.#missing.clear();
    this.#found('The address is another one, and nothing is known to be missing there.');
  }

  #tell(): void {
    const type = 'Stalled';
    if (this.#missing.size > 0) {
      const message = `${this.#deps.baseUrl()} answers and has no ${[...this.#missing].join(', ')}. Set spec.controlPlaneBaseUrl to the address of the control plane, without /api/agent, or upgrade the control plane.`;
      this.#deps.set({ type, status: 'True', reason: Reason.EndpointMissing, message });
    } else this.#found('The control plane has every endpoint that was asked for.');
  }

  #found(message: string): void {
    if (!this.#deps.isStalled()) return;
    this.#deps.set({ type: 'Stalled', status: 'False', reason: Reason.EndpointsFound, message });
  }
}
