import { CONFIG_DEFAULTS, type ConfigVariables } from './config-variables.ts';
import { DEFAULT_RATE_LIMITS } from './http/agent/rate-limits.ts';
import { DEFAULT_JOB_LIFETIME_MS } from './jobs/store-job-queue.ts';

/** What each is for, and what holds without it. docs/reference/configuration.md is made from it. */
export const CONFIG_PURPOSES: Readonly<
  Record<keyof ConfigVariables, { readonly purpose: string; readonly absent?: string }>
> = {
  SERVICE_LISTEN: { purpose: 'Where it listens; port 0 takes a free one.', absent: CONFIG_DEFAULTS.listen },
  SERVICE_BASE_URL: {
    purpose: 'The address that operators and reviewers reach it by; needed where it listens on every address.',
    absent: 'where it listens',
  },
  SERVICE_DATA_DIR: { purpose: 'Where all state is.', absent: CONFIG_DEFAULTS.dataDir },
  SERVICE_DATABASE_URL: {
    purpose: 'The database; PostgreSQL for several replicas.',
    absent: `sqlite:${CONFIG_DEFAULTS.database} in the data directory`,
  },
  SERVICE_MASTER_KEY_FILE: {
    purpose: 'Encrypts what the database holds sealed; made at the first start, mode 0600.',
    absent: `${CONFIG_DEFAULTS.masterKey} in the data directory`,
  },
  SERVICE_TLS_CERT: {
    purpose: "The server's certificate and what leads to its root; with it, it serves HTTPS itself.",
  },
  SERVICE_TLS_KEY: { purpose: 'The private key of that certificate.' },
  SERVICE_TLS_CLIENT_CA: { purpose: 'Authorities of client certificates besides its own.' },
  SERVICE_CLIENT_CERT_HEADER: { purpose: "In which a trusted proxy hands on the client's certificate." },
  SERVICE_TRUSTED_PROXIES: { purpose: 'Whose forwarding headers count.' },
  SERVICE_ADMIN_TOKEN: {
    purpose: 'An admin token that counts as long as it is set.',
    absent: 'one is made and printed at the first start',
  },
  SERVICE_OIDC_ISSUER: { purpose: 'The identity provider that people sign in by.' },
  SERVICE_OIDC_AUDIENCE: { purpose: "Whom the provider's tokens have to be for." },
  SERVICE_OIDC_CLIENT_ID: { purpose: 'The client that people sign in as.', absent: 'the audience' },
  SERVICE_RATE_LIMIT_POLLS: {
    purpose: 'Polls of one credential within 10 s, all together.',
    absent: String(DEFAULT_RATE_LIMITS.polls),
  },
  SERVICE_RATE_LIMIT_WRITES: {
    purpose: 'Acks, statuses and results of one credential within 10 s, all together.',
    absent: String(DEFAULT_RATE_LIMITS.writes),
  },
  SERVICE_RATE_LIMIT_EVENTS: {
    purpose: 'Posts of events of one credential within 10 s.',
    absent: String(DEFAULT_RATE_LIMITS.events),
  },
  SERVICE_RATE_LIMIT_REGISTER: {
    purpose: 'Registrations from one address within a minute; six times as many recoveries of credentials.',
    absent: String(DEFAULT_RATE_LIMITS.register),
  },
  SERVICE_JOB_LIFETIME: {
    purpose: 'Seconds until a job that was not applied expires.',
    absent: String(DEFAULT_JOB_LIFETIME_MS / 1000),
  },
  SERVICE_OPERATOR_IMAGE: {
    purpose: 'Image of the operator in the manifests behind install links.',
    absent: "the manifest's own",
  },
  SERVICE_CHANNEL_ALLOW_PRIVATE: {
    purpose: 'Whether webhooks of the discussion channel may be in private networks.',
    absent: 'false',
  },
  SERVICE_GIT_ALLOW_PRIVATE: {
    purpose: 'Whether repositories of other Git hosts may be in private networks.',
    absent: 'false',
  },
  SERVICE_CATALOG_ALLOW_PRIVATE: {
    purpose: 'Whether registries of charts that are asked for their versions may be in private networks.',
    absent: 'false',
  },
  SERVICE_METRICS_PUBLIC: { purpose: 'Whether `GET /metrics` needs no token.', absent: 'false' },
  SERVICE_LOG_LEVEL: { purpose: 'How much is logged.', absent: CONFIG_DEFAULTS.logLevel },
};
