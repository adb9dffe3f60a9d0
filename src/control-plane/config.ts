import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { AppError } from '../protocol/app-error.ts';
import { compileParser } from '../protocol/parse.ts';
import type { LogLevel } from '../runtime/logger.ts';
import { Secret } from '../runtime/secret.ts';
import { DEFAULT_RATE_LIMITS, RECOVERIES_PER_REGISTRATION, type RateLimits } from './http/agent/rate-limits.ts';
import { readClientCertificates, type ClientCertificateConfig } from './client-certificate-config.ts';
import { ConfigError } from './config-error.ts';
import { CONFIG_DEFAULTS, ConfigVariables, isForeignVariable } from './config-variables.ts';
import { readOidc, type OidcConfig } from './oidc/oidc-config.ts';

export interface ControlPlaneConfig {
  /** Port 0 takes any free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Without a slash at its end. Absent: what the server listens on. */
  readonly baseUrl: string | undefined;
  readonly dataDir: string;
  /** `sqlite:<file>`, or `postgres://…`, which may hold a password. */
  readonly databaseUrl: Secret;
  readonly masterKeyFile: string;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Which client certificates count besides those of the control plane's own authority, and how a proxy hands them on. */
  readonly clientCertificates: ClientCertificateConfig;
  /** Whose `X-Forwarded-*` headers count. */
  readonly trustedProxies: readonly string[];
  readonly adminToken: Secret | undefined;
  /** Whose tokens people may come in with besides; absent: nobody's. */
  readonly oidc: OidcConfig | undefined;
  readonly rateLimits: RateLimits;
  /** From a job's creation to its `expiresAt`; absent: 24 h. */
  readonly jobLifetimeMs: number | undefined;
  /** Image of the operator in the manifests that are handed out; absent: the one in `templates/install`. */
  readonly operatorImage: string | undefined;
  /** Whether the discussion channel's webhooks may be in private networks. */
  readonly channelAllowPrivate: boolean;
  /** Whether repositories of other Git hosts may be in private networks. */
  readonly gitAllowPrivate: boolean;
  /** Whether registries of charts that are asked for their versions may be in private networks. */
  readonly catalogAllowPrivate: boolean;
  /** Whether `GET /metrics` needs no token. */
  readonly metricsPublic: boolean;
  readonly logLevel: LogLevel;
}

const parseVariables = compileParser(ConfigVariables);

/** Addresses that mean "every one of this machine": nobody can be told to call them. */
const UNSPECIFIED = new Set(['0.0.0.0', '::', '[::]']);

/**
 * Reads the program's environment (decisions, "Configuration of the control plane").
 *
 * @throws ConfigError never with a variable's value in it: one of them is a secret
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): ControlPlaneConfig {
  const variables = readVariables(env);
  const dataDir = resolve(variables.SERVICE_DATA_DIR ?? CONFIG_DEFAULTS.dataDir);
  const listen = readListen(variables.SERVICE_LISTEN ?? CONFIG_DEFAULTS.listen);
  if (UNSPECIFIED.has(listen.host) && variables.SERVICE_BASE_URL === undefined) {
    throw new ConfigError(
      'SERVICE_BASE_URL',
      'must be set when SERVICE_LISTEN is every address: operators and Git are sent there',
    );
  }
  return {
    listen,
    baseUrl: readBaseUrl(variables.SERVICE_BASE_URL),
    dataDir,
    databaseUrl: new Secret(variables.SERVICE_DATABASE_URL ?? `sqlite:${join(dataDir, CONFIG_DEFAULTS.database)}`),
    masterKeyFile: resolve(variables.SERVICE_MASTER_KEY_FILE ?? join(dataDir, CONFIG_DEFAULTS.masterKey)),
    tls: readTls(variables),
    clientCertificates: readClientCertificates(variables),
    trustedProxies: readProxies(variables.SERVICE_TRUSTED_PROXIES),
    adminToken: variables.SERVICE_ADMIN_TOKEN === undefined ? undefined : new Secret(variables.SERVICE_ADMIN_TOKEN),
    oidc: readOidc(variables),
    rateLimits: readRateLimits(variables),
    jobLifetimeMs:
      variables.SERVICE_JOB_LIFETIME === undefined ? undefined : Number(variables.SERVICE_JOB_LIFETIME) * 1000,
    operatorImage: variables.SERVICE_OPERATOR_IMAGE,
    channelAllowPrivate: variables.SERVICE_CHANNEL_ALLOW_PRIVATE === 'true',
    gitAllowPrivate: variables.SERVICE_GIT_ALLOW_PRIVATE === 'true',
    catalogAllowPrivate: variables.SERVICE_CATALOG_ALLOW_PRIVATE === 'true',
    metricsPublic: variables.SERVICE_METRICS_PUBLIC === 'true',
    logLevel: variables.SERVICE_LOG_LEVEL ?? CONFIG_DEFAULTS.logLevel,
  };
}

function readVariables(env: Readonly<Record<string, string | undefined>>): ConfigVariables {
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || isForeignVariable(name)) continue;
    if (value === '') throw new ConfigError(name, 'is empty; unset it or give it a value');
    own[name] = value;
  }
  try {
    return parseVariables(own);
  } catch (error) {
    const fault = error instanceof AppError ? error.faults[0] : undefined;
    if (fault === undefined) throw error;
    throw new ConfigError(fault.path.slice(1), fault.message);
  }
}

function readListen(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(':');
  const port = Number(text.slice(colon + 1));
  if (port > 65_535) throw new ConfigError('SERVICE_LISTEN', 'the port must be 0 to 65535');
  return { host: text.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port };
}

function readBaseUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!URL.canParse(text)) throw new ConfigError('SERVICE_BASE_URL', 'is not an address');
  return text.replace(/\/+$/, '');
}

function readTls(variables: ConfigVariables): ControlPlaneConfig['tls'] {
  const { SERVICE_TLS_CERT: certFile, SERVICE_TLS_KEY: keyFile } = variables;
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined) throw new ConfigError('SERVICE_TLS_CERT', 'must be set together with SERVICE_TLS_KEY');
  if (keyFile === undefined) throw new ConfigError('SERVICE_TLS_KEY', 'must be set together with SERVICE_TLS_CERT');
  return { certFile, keyFile };
}

function readRateLimits(variables: ConfigVariables): RateLimits {
  const set = (text: string | undefined, fallback: number): number => (text === undefined ? fallback : Number(text));
  const register = set(variables.SERVICE_RATE_LIMIT_REGISTER, DEFAULT_RATE_LIMITS.register);
  return {
    ...DEFAULT_RATE_LIMITS,
    polls: set(variables.SERVICE_RATE_LIMIT_POLLS, DEFAULT_RATE_LIMITS.polls),
    writes: set(variables.SERVICE_RATE_LIMIT_WRITES, DEFAULT_RATE_LIMITS.writes),
    events: set(variables.SERVICE_RATE_LIMIT_EVENTS, DEFAULT_RATE_LIMITS.events),
    register,
    recover: register * RECOVERIES_PER_REGISTRATION,
  };
}

function readProxies(text: string | undefined): string[] {
  const proxies = text?.split(',') ?? [];
  for (const proxy of proxies) {
    const [address = '', bits, ...rest] = proxy.split('/');
    const family = isIP(address);
    const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
    if (family === 0 || !fits || rest.length > 0) {
      throw new ConfigError('SERVICE_TRUSTED_PROXIES', `'${proxy}' is neither an address nor a CIDR`);
    }
  }
  return proxies;
}
