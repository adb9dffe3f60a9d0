import { Type, type Static } from 'typebox';
import { LOG_LEVELS, type LogLevel } from '../runtime/logger.ts';
import { isServiceLink } from '../runtime/service-link.ts';

/** Where a variable is not set. */
export const CONFIG_DEFAULTS = {
  listen: '127.0.0.1:8080',
  dataDir: './data',
  database: 'control-plane.db',
  masterKey: 'master.key',
  logLevel: 'info',
} as const;

const variable = (options: Parameters<typeof Type.String>[0]) =>
  Type.Optional(Type.String({ minLength: 1, ...options }));

const rateLimit = (of: string) =>
  variable({ pattern: '^[1-9][0-9]{0,6}$', description: `1 to 9999999: how many ${of}` });

/** Every variable that this version acts on. Whatever they hold is text; `config.ts` reads it. */
export const ConfigVariables = Type.Object(
  {
    SERVICE_LISTEN: variable({
      pattern: '^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+):[0-9]{1,5}$',
      description: 'host:port, such as 127.0.0.1:8080 or [::1]:8080',
    }),
    SERVICE_BASE_URL: variable({
      pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
      description: 'an http:// or https:// address without user, query or fragment',
    }),
    SERVICE_DATA_DIR: variable({ pattern: '^[^\\u0000]+$', description: 'a directory' }),
    SERVICE_DATABASE_URL: variable({
      pattern: '^(sqlite:|postgres(ql)?://).+$',
      description: 'sqlite:<file> or postgres://user:password@host:5432/database',
    }),
    SERVICE_MASTER_KEY_FILE: variable({ pattern: '^[^\\u0000]+$', description: 'a file' }),
    SERVICE_TLS_CERT: variable({ pattern: '^[^\\u0000]+$', description: 'a PEM file' }),
    SERVICE_TLS_KEY: variable({ pattern: '^[^\\u0000]+$', description: 'a PEM file' }),
    SERVICE_TLS_CLIENT_CA: variable({ pattern: '^[^\\u0000]+$', description: 'a PEM file' }),
    SERVICE_CLIENT_CERT_HEADER: variable({
      pattern: '^[A-Za-z][A-Za-z0-9-]{0,99}$',
      description: 'the name of a header, such as X-Client-Cert',
    }),
    SERVICE_TRUSTED_PROXIES: variable({
      pattern: '^[0-9A-Fa-f.:/]+(,[0-9A-Fa-f.:/]+)*$',
      description: 'addresses or CIDRs with commas between them, such as 10.0.0.0/8,::1',
    }),
    SERVICE_ADMIN_TOKEN: variable({
      pattern: '^[\\u0021-\\u007e]{32,256}$',
      description: '32 to 256 visible ASCII characters',
    }),
    SERVICE_OIDC_ISSUER: variable({
      pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
      description: 'the address of an OpenID provider, exactly as its tokens say it',
    }),
    SERVICE_OIDC_AUDIENCE: variable({
      pattern: '^[\\u0021-\\u007e]{1,512}$',
      description: 'whom tokens of the provider are for: a client id or the name of an API',
    }),
    SERVICE_OIDC_CLIENT_ID: variable({
      pattern: '^[\\u0021-\\u007e]{1,512}$',
      description: 'the client that people sign in as; without it, the audience',
    }),
    SERVICE_RATE_LIMIT_POLLS: rateLimit('polls a credential may send within 10 s'),
    SERVICE_RATE_LIMIT_WRITES: rateLimit('acks, statuses and results a credential may send within 10 s'),
    SERVICE_RATE_LIMIT_EVENTS: rateLimit('posts of events a credential may send within 10 s'),
    SERVICE_RATE_LIMIT_REGISTER: rateLimit('registrations an address may try within a minute'),
    SERVICE_JOB_LIFETIME: variable({
      pattern: '^([6-9][0-9]|[1-9][0-9]{2,6})$',
      description: '60 to 9999999: seconds until a job that is not applied expires',
    }),
    SERVICE_OPERATOR_IMAGE: variable({
      pattern: '^[a-zA-Z0-9][\\w.:/@-]{0,511}$',
      description: 'an image such as registry.example.com/service-operator:1.2.3',
    }),
    SERVICE_CHANNEL_ALLOW_PRIVATE: variable({ pattern: '^(true|false)$', description: 'true or false' }),
    SERVICE_GIT_ALLOW_PRIVATE: variable({ pattern: '^(true|false)$', description: 'true or false' }),
    SERVICE_CATALOG_ALLOW_PRIVATE: variable({ pattern: '^(true|false)$', description: 'true or false' }),
    SERVICE_METRICS_PUBLIC: variable({ pattern: '^(true|false)$', description: 'true or false' }),
    SERVICE_LOG_LEVEL: Type.Optional(Type.Unsafe<LogLevel>({ type: 'string', enum: [...LOG_LEVELS] })),
  },
  { additionalProperties: false },
);
export type ConfigVariables = Static<typeof ConfigVariables>;

/** The operator's own, so that both programs can be started from one shell. */
const VARIABLES_OF_THE_OPERATOR: ReadonlySet<string> = new Set([
  'SERVICE_OPERATOR_NAMESPACE',
  'SERVICE_OPERATOR_KUBECONFIG',
  'SERVICE_OPERATOR_LISTEN',
  'SERVICE_OPERATOR_STATE_DIR',
]);

/** Set for something else than this program. */
export function isForeignVariable(name: string): boolean {
  return !name.startsWith('SERVICE_') || VARIABLES_OF_THE_OPERATOR.has(name) || isServiceLink(name);
}
