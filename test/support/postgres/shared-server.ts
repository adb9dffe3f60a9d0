import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { PostgresServer } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Asked for a database, it answers the URL of a new, empty one. */
    postgresUrl: string;
  }
}

/**
 * vitest's global setup: one PostgreSQL for all tests of a run, owned by vitest's own process and started when a test first
 * asks for a database. A run without such a test starts nothing.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const broker = createServer((_request, response) => {
    server ??= PostgresServer.start();
    server
      // A collation that does not compare byte by byte, as a user's database may have.
      .then(async (started) => started.createDatabase("TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"))
      .then(
        (url) => response.end(url),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  await new Promise<void>((resolve) => {
    broker.listen(0, '127.0.0.1', resolve);
  });
  project.provide('postgresUrl', `http://127.0.0.1:${(broker.address() as AddressInfo).port}/`);
  return async () => {
    broker.closeAllConnections();
    broker.close();
    await (await server?.catch(() => undefined))?.[Symbol.asyncDispose]();
  };
}
