/** Sent at registration, shown in `Cluster.status`. */
export const OPERATOR_VERSION = '0.1.0';
export const USER_AGENT = `service-operator/${OPERATOR_VERSION}`;
