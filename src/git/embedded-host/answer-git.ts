import type { IncomingMessage, ServerResponse } from 'node:http';

/** 401, so that git asks its user, or its helper, for another credential. */
export function unauthorized(request: IncomingMessage, response: ServerResponse, message: string): void {
  response.setHeader('www-authenticate', 'Basic realm="git", charset="UTF-8"');
  answer(request, response, 401, message);
}

/** Answers with one line of text, which git shows to its user. */
export function answer(request: IncomingMessage, response: ServerResponse, status: number, message: string): void {
  if (response.headersSent || response.destroyed) return;
  // A body that nobody reads would hold the connection; a small one is read away so that it can be used again.
  if (
    request.complete ||
    Number(request.headers['content-length'] ?? (request.method === 'GET' ? 0 : Infinity)) < 65_536
  ) {
    request.resume();
  } else {
    response.setHeader('connection', 'close');
  }
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
  response.end(`${message}\n`);
}
