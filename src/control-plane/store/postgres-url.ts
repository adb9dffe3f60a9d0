import { readFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { Secret } from '../../runtime/secret.ts';

/** Where a PostgreSQL database is and how it is used, as its URL says. */
export interface PostgresSettings {
  /** Host, port and database, for messages. */
  readonly place: string;
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Absent: what libpq's PGPASSWORD or ~/.pgpass say. */
  readonly password: Secret | undefined;
  readonly database: string;
  readonly tls: ConnectionOptions | false;
  readonly applicationName: string;
  /** All connections of this process, the one for wake-ups and locks included. */
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly idleInTransactionTimeoutMs: number;
}

const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
type TlsMode = (typeof TLS_MODES)[number];

interface NumberParameter {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

const NUMBERS = {
  /** One reads, one writes, one is for wake-ups and locks. */
  pool_max_conns: { fallback: 20, min: 3, max: 500 },
  /** Seconds, as libpq has it; the others are milliseconds, as PostgreSQL has them. */
  connect_timeout: { fallback: 5, min: 1, max: 60 },
  statement_timeout: { fallback: 15_000, min: 100, max: 600_000 },
  lock_timeout: { fallback: 5000, min: 100, max: 600_000 },
  idle_in_transaction_session_timeout: { fallback: 30_000, min: 1000, max: 600_000 },
} as const satisfies Readonly<Record<string, NumberParameter>>;

const TEXTS = ['application_name', 'host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const;

export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:/i.test(url);
}

/**
 * Reads `postgres://user:password@host:port/database?parameters`. Parameters have libpq's and PostgreSQL's own names, and
 * `pool_max_conns` as in pgx.
 *
 * @throws Error with one line that says what is wrong, never with the URL in it: it holds a password
 */
export function readPostgresUrl(text: string): PostgresSettings {
  if (!URL.canParse(text)) throw new Error('is not an address such as postgres://user:password@host:5432/database');
  const url = new URL(text);
  const parameters = readParameters(url);
  const host = parameters.host ?? decode(url.hostname.replace(/^\[(.*)\]$/, '$1'), 'host');
  if (host === '')
    throw new Error('names no host; for a Unix socket write postgres://user@localhost/database?host=/its/folder');
  const user = decode(url.username, 'user');
  if (user === '') throw new Error('names no user: postgres://user:password@host:5432/database');
  const database = decode(url.pathname.slice(1), 'database');
  if (database === '' || database.includes('/')) {
    throw new Error('names no database: postgres://user:password@host:5432/database');
  }
  const port = url.port === '' ? 5432 : Number(url.port);
  const number = (name: keyof typeof NUMBERS): number => numberOf(name, parameters[name]);
  return {
    place: `${host.includes(':') ? `[${host}]` : host}:${port}/${database}`,
    host,
    port,
    user,
    password: url.password === '' ? undefined : new Secret(decode(url.password, 'password')),
    database,
    tls: readTls(host, parameters),
    applicationName: parameters.application_name ?? 'service-control-plane',
    maxConnections: number('pool_max_conns'),
    connectTimeoutMs: number('connect_timeout') * 1000,
    statementTimeoutMs: number('statement_timeout'),
    lockTimeoutMs: number('lock_timeout'),
    idleInTransactionTimeoutMs: number('idle_in_transaction_session_timeout'),
  };
}

type Parameters = Readonly<Partial<Record<(typeof TEXTS)[number] | keyof typeof NUMBERS, string>>>;

function readParameters(url: URL): Parameters {
  const known = new Set<string>([...TEXTS, ...Object.keys(NUMBERS)]);
  const found: Record<string, string> = {};
  for (const [name, value] of url.searchParams) {
    if (!known.has(name)) {
      throw new Error(`has the unknown parameter ${name.slice(0, 40)}; known are ${[...known].sort().join(', ')}`);
    }
    if (found[name] !== undefined) throw new Error(`has the parameter ${name} twice`);
    if (value === '') throw new Error(`has the parameter ${name} without a value`);
    found[name] = value;
  }
  return found;
}

function numberOf(name: keyof typeof NUMBERS, text: string | undefined): number {
  const { fallback, min, max } = NUMBERS[name];
  if (text === undefined) return fallback;
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new Error(`has a parameter ${name} that is not a number from ${min} to ${max}`);
}

function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new Error(`has a ${what} that is not percent-encoded rightly`, { cause: error });
  }
}

/** On this machine nobody listens in between; anywhere else the server must prove who it is unless the URL says otherwise. */
function readTls(host: string, parameters: Parameters): ConnectionOptions | false {
  const isLocal =
    host.startsWith('/') || host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
  const mode = parameters.sslmode ?? (isLocal ? 'disable' : 'verify-full');
  if (!isTlsMode(mode)) throw new Error(`has a parameter sslmode that is none of ${TLS_MODES.join(', ')}`);
  const { sslrootcert, sslcert, sslkey } = parameters;
  if (mode === 'disable') return false;
  if ((sslcert === undefined) !== (sslkey === undefined)) throw new Error('needs sslcert and sslkey together');
  return {
    ...(sslrootcert === undefined ? {} : { ca: readFile('sslrootcert', sslrootcert) }),
    ...(sslcert === undefined ? {} : { cert: readFile('sslcert', sslcert) }),
    ...(sslkey === undefined ? {} : { key: readFile('sslkey', sslkey) }),
    // As in libpq: `require` checks the chain only where a root is given.
    rejectUnauthorized: mode !== 'require' || sslrootcert !== undefined,
    ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  };
}

function isTlsMode(text: string): text is TlsMode {
  return (TLS_MODES as readonly string[]).includes(text);
}

function readFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new Error(`has a parameter ${name} whose file ${path} cannot be read (${code})`, { cause: error });
  }
}
