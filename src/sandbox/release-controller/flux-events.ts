import type { KubeEvent } from '../../kube/kube-event-recorder.ts';
import type { KubeObject } from '../../resources/kube-object.ts';

/** Where the controllers say what they did: core/v1 Events, or nothing in a test. */
export interface FluxEvents {
  record(about: KubeObject, event: KubeEvent): void;
}
