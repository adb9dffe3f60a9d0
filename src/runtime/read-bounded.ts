/** The body is longer than it may be. Nothing more of it is read. */
export class BodyTooLongError extends Error {
  constructor(limit: number) {
    super(`more than ${limit} bytes`);
    this.name = 'BodyTooLongError';
  }
}

/** A response's body, of which no more than `limit` bytes are ever taken. @throws BodyTooLongError, and what the body throws */
export async function readBounded(response: Response, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > limit) throw new BodyTooLongError(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
