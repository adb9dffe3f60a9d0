/** Bounds on the connections to the operator's port, where anybody may connect whom the network lets through. */
export interface ConnectionLimits {
  /** From the connection to its first byte. */
  readonly firstByteMs: number;
  /** From the first byte to the end of the TLS handshake. */
  readonly handshakeMs: number;
  /** To the end of a request's headers, and of its body. */
  readonly requestMs: number;
  /** How often those are looked at; they end late by as much. Node's own 30 s would make 5 s into 35. */
  readonly checkMs: number;
  /** Without a request, or with an answer that nobody reads. */
  readonly idleMs: number;
  /** Connections at once, of all clients. */
  readonly total: number;
  /** Connections at once from one address. */
  readonly perAddress: number;
}

/** A share holds the reviews of one API server that may run and wait (72), and leaves room for four more such clients. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  firstByteMs: 5000,
  handshakeMs: 5000,
  requestMs: 5000,
  checkMs: 1000,
  idleMs: 5000,
  total: 512,
  perAddress: 96,
};

/** As options of a server of HTTP. */
export function requestLimits({ requestMs, checkMs }: ConnectionLimits): {
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  readonly connectionsCheckingInterval: number;
} {
  return { headersTimeout: requestMs, requestTimeout: requestMs, connectionsCheckingInterval: checkMs };
}
