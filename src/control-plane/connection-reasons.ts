/** The cluster called within three heartbeats. */
export const WITHIN_HEARTBEAT = 'WithinHeartbeat';
/** It did not; the message has its last contact. Its applications go on running. */
export const NO_CONTACT = 'NoContact';
/** No operator has registered yet. */
export const NOT_REGISTERED = 'NotRegistered';
