import { createReadStream } from 'node:fs';
import { CliError, EXIT } from './cli-error.ts';

/** Of the largest body that the admin API takes. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * The text of a file that the command line names; `-` is standard input, waited for until its writer ends it. That is never
 * read at once: such a read fails (EAGAIN) where the writer's next word is not there yet.
 *
 * @param what as messages call the file
 * @throws CliError
 */
export async function readInput(file: string, what: string, next?: string): Promise<string> {
  const name = file === '-' ? 'standard input' : what;
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    const source: AsyncIterable<Buffer> = file === '-' ? process.stdin : createReadStream(file);
    for await (const part of source) {
      bytes += part.length;
      if (bytes > MAX_BYTES) throw new CliError(EXIT.usage, `${name} has more than ${MAX_BYTES} bytes`);
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new CliError(EXIT.usage, `${name} cannot be read (${code})`, next, { cause: error });
  }
  return Buffer.concat(parts).toString('utf8');
}
