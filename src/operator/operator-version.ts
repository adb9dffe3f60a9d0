import { PROJECT_VERSION } from '../runtime/project-version.ts';

/** Sent at registration, shown in `Cluster.status`. */
export const OPERATOR_VERSION = PROJECT_VERSION;
export const USER_AGENT = `service-operator/${OPERATOR_VERSION}`;
