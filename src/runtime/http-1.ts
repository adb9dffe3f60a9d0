/**
 * Options of every connection pool: undici offers HTTP/2 by itself, and Node 24's HTTP/2 client loops for ever in
 * `Http2Session::SendPendingData` once a request with a body is aborted while it leaves; the process then grows until it
 * dies. A pool of HTTP/1.1 connections does the same work.
 */
export const HTTP_1 = { allowH2: false } as const;
