import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/control-plane/config.ts';
import { ConfigError } from '../../src/control-plane/config-error.ts';

const TOKEN = 'a-token-of-thirty-two-characters';

describe('readConfig', () => {
  it('has a default for everything', () => {
    const config = readConfig({});
    expect(config).toMatchObject({
      listen: { host: '127.0.0.1', port: 8080 },
      baseUrl: undefined,
      tls: undefined,
      trustedProxies: [],
      adminToken: undefined,
      logLevel: 'info',
    });
    expect(config.dataDir).toMatch(/\/data$/);
    expect(config.databaseUrl.expose()).toBe(`sqlite:${config.dataDir}/control-plane.db`);
    expect(config.masterKeyFile).toBe(`${config.dataDir}/master.key`);
  });

  it('reads every variable', () => {
    const config = readConfig({
      SERVICE_LISTEN: '[::1]:0',
      SERVICE_BASE_URL: 'https://control.example.com/service/',
      SERVICE_DATA_DIR: '/var/lib/service',
      SERVICE_DATABASE_URL: 'sqlite:/var/lib/other.db',
      SERVICE_MASTER_KEY_FILE: '/run/secrets/master.key',
      SERVICE_TLS_CERT: '/tls/tls.crt',
      SERVICE_TLS_KEY: '/tls/tls.key',
      SERVICE_TLS_CLIENT_CA: '/tls/client-ca.crt',
      SERVICE_CLIENT_CERT_HEADER: 'X-Client-Cert',
      SERVICE_TRUSTED_PROXIES: '10.0.0.0/8,::1',
      SERVICE_ADMIN_TOKEN: TOKEN,
      SERVICE_RATE_LIMIT_POLLS: '6',
      SERVICE_RATE_LIMIT_EVENTS: '7',
      SERVICE_RATE_LIMIT_REGISTER: '30',
      SERVICE_JOB_LIFETIME: '3600',
      SERVICE_OPERATOR_IMAGE: 'registry.example.com:5000/service-operator@sha256:00ff',
      SERVICE_CHANNEL_ALLOW_PRIVATE: 'true',
      SERVICE_GIT_ALLOW_PRIVATE: 'true',
      SERVICE_CATALOG_ALLOW_PRIVATE: 'true',
      SERVICE_METRICS_PUBLIC: 'true',
      SERVICE_LOG_LEVEL: 'warn',
    });
    const { adminToken, databaseUrl, ...rest } = config;
    expect(databaseUrl.expose()).toBe('sqlite:/var/lib/other.db');
    expect(adminToken?.expose()).toBe(TOKEN);
    expect(JSON.stringify(config)).not.toContain(TOKEN);
    expect(rest).toEqual({
      listen: { host: '::1', port: 0 },
      baseUrl: 'https://control.example.com/service',
      dataDir: '/var/lib/service',
      masterKeyFile: '/run/secrets/master.key',
      tls: { certFile: '/tls/tls.crt', keyFile: '/tls/tls.key' },
      channelAllowPrivate: true,
      gitAllowPrivate: true,
      catalogAllowPrivate: true,
      metricsPublic: true,
      clientCertificates: { caFile: '/tls/client-ca.crt', header: 'x-client-cert' },
      trustedProxies: ['10.0.0.0/8', '::1'],
      rateLimits: { polls: 6, writes: 1000, events: 7, register: 30, rotate: 20, recover: 180 },
      jobLifetimeMs: 3_600_000,
      operatorImage: 'registry.example.com:5000/service-operator@sha256:00ff',
      logLevel: 'warn',
    });
  });

  it('takes a PostgreSQL database, and keeps its URL to itself: it holds a password', () => {
    const config = readConfig({ SERVICE_DATABASE_URL: 'postgres://service:pass-word@db:5432/service' });
    expect(config.databaseUrl.expose()).toBe('postgres://service:pass-word@db:5432/service');
    expect(inspect(config) + JSON.stringify(config)).not.toContain('pass-word');
  });

  it("ignores other programs' variables: Kubernetes service links and the operator's", () => {
    expect(() =>
      readConfig({
        PATH: '/bin',
        SERVICE_CONTROL_PLANE_SERVICE_HOST: '10.96.0.7',
        SERVICE_CONTROL_PLANE_SERVICE_PORT: '80',
        SERVICE_CONTROL_PLANE_SERVICE_PORT_HTTP: '80',
        SERVICE_CONTROL_PLANE_PORT: 'tcp://10.96.0.7:80',
        SERVICE_CONTROL_PLANE_PORT_80_TCP: 'tcp://10.96.0.7:80',
        SERVICE_CONTROL_PLANE_PORT_80_TCP_PROTO: 'tcp',
        SERVICE_CONTROL_PLANE_PORT_80_TCP_PORT: '80',
        SERVICE_CONTROL_PLANE_PORT_80_TCP_ADDR: '10.96.0.7',
        SERVICE_OPERATOR_KUBECONFIG: '/root/.kube/config',
      }),
    ).not.toThrow();
  });

  it.for<[string, Record<string, string>, RegExp]>([
    [
      'an unknown variable',
      { SERVICE_LISTN: '127.0.0.1:1' },
      /^SERVICE_LISTN: is not known; the known .*SERVICE_LISTEN/,
    ],
    [
      'a misspelt variable of the operator',
      { SERVICE_OPERATOR_KUBECONFG: 'x' },
      /^SERVICE_OPERATOR_KUBECONFG: is not known/,
    ],
    ['an empty variable', { SERVICE_BASE_URL: '' }, /^SERVICE_BASE_URL: is empty/],
    ['an image with a space', { SERVICE_OPERATOR_IMAGE: 'two words' }, /^SERVICE_OPERATOR_IMAGE: must be an image/],
    ['an address without a port', { SERVICE_LISTEN: '127.0.0.1' }, /^SERVICE_LISTEN: must be host:port/],
    ['a port that is none', { SERVICE_LISTEN: '127.0.0.1:70000' }, /^SERVICE_LISTEN: the port must be 0 to 65535/],
    ['every address without a base URL', { SERVICE_LISTEN: '0.0.0.0:8080' }, /^SERVICE_BASE_URL: must be set when/],
    ['a base URL with a user', { SERVICE_BASE_URL: 'https://me@host' }, /^SERVICE_BASE_URL: must be an http/],
    ['a base URL with a query', { SERVICE_BASE_URL: 'https://host/?a=b' }, /^SERVICE_BASE_URL: must be an http/],
    ['another database', { SERVICE_DATABASE_URL: 'mysql://db' }, /^SERVICE_DATABASE_URL: must be sqlite:/],
    ['a certificate without its key', { SERVICE_TLS_CERT: 'a' }, /^SERVICE_TLS_KEY: must be set together with/],
    ['a key without its certificate', { SERVICE_TLS_KEY: 'a' }, /^SERVICE_TLS_CERT: must be set together with/],
    [
      'a proxy that is no address',
      { SERVICE_TRUSTED_PROXIES: '10.0.0.0/40' },
      /^SERVICE_TRUSTED_PROXIES: '10.0.0.0\/40'/,
    ],
    ['a short admin token', { SERVICE_ADMIN_TOKEN: 'secret-but-short' }, /^SERVICE_ADMIN_TOKEN: must be 32 to 256/],
    ['an admin token with a space', { SERVICE_ADMIN_TOKEN: `${TOKEN} x` }, /^SERVICE_ADMIN_TOKEN: must be 32 to 256/],
    ['an unknown log level', { SERVICE_LOG_LEVEL: 'loud' }, /^SERVICE_LOG_LEVEL: must be one of fatal, error/],
    [
      'an issuer whose tokens may be for anybody',
      { SERVICE_OIDC_ISSUER: 'https://id.example.com' },
      /^SERVICE_OIDC_AUDIENCE: must be set together with SERVICE_OIDC_ISSUER/,
    ],
    [
      'an audience without an issuer',
      { SERVICE_OIDC_AUDIENCE: 'servicectl' },
      /^SERVICE_OIDC_ISSUER: must be set together with SERVICE_OIDC_AUDIENCE/,
    ],
    [
      'a client without an issuer',
      { SERVICE_OIDC_CLIENT_ID: 'servicectl' },
      /^SERVICE_OIDC_ISSUER: must be set together with SERVICE_OIDC_CLIENT_ID/,
    ],
    [
      'an issuer over plain HTTP on another machine',
      { SERVICE_OIDC_ISSUER: 'http://id.example.com', SERVICE_OIDC_AUDIENCE: 'servicectl' },
      /^SERVICE_OIDC_ISSUER: must be an https:\/\/ address/,
    ],
    [
      'client authorities that nobody asks for',
      { SERVICE_TLS_CLIENT_CA: 'ca.pem' },
      /^SERVICE_TLS_CLIENT_CA: has no eff/,
    ],
    [
      'a certificate header from anybody',
      { SERVICE_CLIENT_CERT_HEADER: 'X-Client-Cert' },
      /^SERVICE_CLIENT_CERT_HEADER: must be set together with SERVICE_TRUSTED_PROXIES/,
    ],
    [
      'a header that is no name',
      { SERVICE_CLIENT_CERT_HEADER: 'X Client', SERVICE_TRUSTED_PROXIES: '::1' },
      /^SERVICE_CLIENT_CERT_HEADER: must be the name of a header/,
    ],
    ['a rate limit of nothing', { SERVICE_RATE_LIMIT_EVENTS: '0' }, /^SERVICE_RATE_LIMIT_EVENTS: must be 1 to 9999999/],
  ])('refuses %s in one line', ([, env, line]) => {
    let thrown: unknown;
    try {
      readConfig(env);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ConfigError);
    const { message } = thrown as ConfigError;
    expect(message).toMatch(line);
    expect(message).not.toContain('\n');
    if (env['SERVICE_ADMIN_TOKEN'] !== undefined) expect(message).not.toContain(env['SERVICE_ADMIN_TOKEN']);
  });
});
