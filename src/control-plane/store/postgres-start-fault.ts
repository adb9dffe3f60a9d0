import { DatabaseError } from 'pg';
import { AppError } from '../../protocol/app-error.ts';
import type { PostgresSettings } from './postgres-url.ts';

/** What an admin does about each SQLSTATE that a start may meet. */
const ADVICE: Readonly<Record<string, string>> = {
  '28P01': 'the password is not accepted; correct it in the URL',
  '28000': 'the server does not let this user in from here; see its pg_hba.conf',
  '3D000': 'there is no such database; make it first: CREATE DATABASE … ENCODING UTF8',
  '42501': 'the user may not make tables there; let it own the database: ALTER DATABASE … OWNER TO …',
  '53300': 'the server has no connection left; raise its max_connections or lower pool_max_conns',
  '57P03': 'the server is starting or stopping; try again in a moment',
  '55P03': 'other work on the database did not let go of a table; try again when it has ended',
  '0A000': 'the server does not have what is needed',
};

const SYSTEM_ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; start PostgreSQL or correct the address',
  ENOTFOUND: 'the host has no address; correct its name',
  EAI_AGAIN: 'the host has no address now; look at the name server',
  ENOENT: 'there is no socket in that folder; start PostgreSQL or correct host',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network of the host cannot be reached',
  ECONNRESET: 'the server ended the connection',
  EACCES: 'the socket may not be opened by this user',
};

/**
 * Why the database could not be opened, in one line that names the variable and what to do. Neither password nor URL
 * is in it, and no text of the server that could repeat them.
 */
export function startFault(error: unknown, settings: PostgresSettings): Error {
  return new Error(`SERVICE_DATABASE_URL: ${settings.place} as ${settings.user}: ${reason(error)}`, { cause: error });
}

function reason(error: unknown): string {
  const origin = originOf(error);
  if (origin instanceof DatabaseError) {
    const advice = ADVICE[origin.code ?? ''];
    return advice === undefined
      ? `${origin.message} (${origin.code ?? 'no code'})`
      : `${advice} (${String(origin.code)})`;
  }
  if (!(origin instanceof Error)) return 'it cannot be opened';
  const code = 'code' in origin ? String(origin.code) : '';
  const advice = SYSTEM_ADVICE[code];
  if (advice !== undefined) return `${advice} (${code})`;
  if (origin.message === 'The server does not support SSL connections') {
    return 'the server has no TLS; give it a certificate, or add sslmode=disable to the URL where the network is trusted';
  }
  if (/timeout/i.test(origin.message)) return 'it does not answer in time; look at the address and at firewalls';
  if (/CERT|SIGNED|ISSUER|ALTNAME|TLS/.test(code)) {
    return `the server's certificate is not accepted (${code}); give its root as sslrootcert, or see sslmode`;
  }
  return origin.message.replaceAll('\n', ' ');
}

/** The first fault: connecting to several addresses of a name fails with all of theirs. */
function originOf(error: unknown): unknown {
  let origin = error;
  while (origin instanceof Error && !(origin instanceof DatabaseError)) {
    if (origin instanceof AggregateError && origin.errors.length > 0) origin = origin.errors[0];
    else if (origin instanceof AppError && origin.cause instanceof Error) origin = origin.cause;
    else break;
  }
  return origin;
}
