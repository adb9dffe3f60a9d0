import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readPostgresUrl } from '../../../src/control-plane/store/postgres-url.ts';
import { temporaryFolder } from './open-test-store.ts';

describe('readPostgresUrl', () => {
  it('reads what it says, and has a default for the rest', () => {
    const { password, ...rest } = readPostgresUrl('postgres://us%40er:pa%2Fss@db.example.com/service');
    expect(password?.expose()).toBe('pa/ss');
    expect(rest).toEqual({
      place: 'db.example.com:5432/service',
      host: 'db.example.com',
      port: 5432,
      user: 'us@er',
      database: 'service',
      tls: { rejectUnauthorized: true },
      applicationName: 'service-control-plane',
      maxConnections: 20,
      connectTimeoutMs: 5000,
      statementTimeoutMs: 15_000,
      lockTimeoutMs: 5000,
      idleInTransactionTimeoutMs: 30_000,
    });
  });

  it('keeps the password to itself', () => {
    const settings = readPostgresUrl('postgres://user:pass-word@localhost/service');
    expect(inspect(settings, { depth: 9 }) + JSON.stringify(settings)).not.toContain('pass-word');
  });

  it('takes parameters by the names that libpq and PostgreSQL have', () => {
    const settings = readPostgresUrl(
      'postgresql://user@[::1]:6432/service?pool_max_conns=7&connect_timeout=2&statement_timeout=900&lock_timeout=800&idle_in_transaction_session_timeout=7000&application_name=blue',
    );
    expect(settings).toMatchObject({
      place: '[::1]:6432/service',
      host: '::1',
      password: undefined,
      maxConnections: 7,
      connectTimeoutMs: 2000,
      statementTimeoutMs: 900,
      lockTimeoutMs: 800,
      idleInTransactionTimeoutMs: 7000,
      applicationName: 'blue',
    });
  });

  it.each([
    ['localhost', '', false],
    ['127.0.0.7', '', false],
    ['127.evil.example', '', { rejectUnauthorized: true }],
    ['db', '', { rejectUnauthorized: true }],
    ['db', '?sslmode=disable', false],
    ['localhost', '?sslmode=verify-full', { rejectUnauthorized: true }],
    ['db', '?sslmode=require', { rejectUnauthorized: false, checkServerIdentity: expect.any(Function) as unknown }],
    ['db', '?sslmode=verify-ca', { rejectUnauthorized: true, checkServerIdentity: expect.any(Function) as unknown }],
  ])('asks of %s%s %o', (host, parameters, tls) => {
    expect(readPostgresUrl(`postgres://user@${host}/service${parameters}`).tls).toEqual(tls);
  });

  it('verifies the chain where a root is given, as libpq does', () => {
    using folder = temporaryFolder();
    const root = join(folder.path, 'root.crt');
    writeFileSync(root, 'pem');
    const url = `postgres://user@db/service?sslmode=require&sslrootcert=${root}`;
    expect(readPostgresUrl(url).tls).toMatchObject({ ca: 'pem', rejectUnauthorized: true });
  });

  it('takes the folder of a Unix socket', () => {
    const { host, tls } = readPostgresUrl('postgres://user@localhost/service?host=/var/run/postgresql');
    expect([host, tls]).toEqual(['/var/run/postgresql', false]);
  });

  it.each([
    ['postgres://', /^is not an address|^names no host/],
    ['postgres://host/service', /^names no user/],
    ['postgres://user@host', /^names no database/],
    ['postgres://user@host/a/b', /^names no database/],
    ['postgres://user:%zz@host/service', /^has a password that is not percent-encoded rightly$/],
    ['postgres://user@host/service?target_session_attrs=any', /^has the unknown parameter target_session_attrs; known/],
    [
      'postgres://user@host/service?sslmode=prefer',
      /^has a parameter sslmode that is none of disable, require, verify/,
    ],
    ['postgres://user@host/service?pool_max_conns=2', /^has a parameter pool_max_conns that is not a number from 3 to/],
    ['postgres://user@host/service?connect_timeout=1s', /^has a parameter connect_timeout that is not a number from 1/],
    ['postgres://user@host/service?lock_timeout=200&lock_timeout=300', /^has the parameter lock_timeout twice$/],
    [
      'postgres://user@host/service?sslrootcert=/nowhere',
      /^has a parameter sslrootcert whose file \/nowhere cannot be/,
    ],
    ['postgres://user@host/service?sslcert=/a', /^needs sslcert and sslkey together$/],
  ])('refuses %s', (url, message) => {
    expect(() => readPostgresUrl(url)).toThrow(message);
  });
});
