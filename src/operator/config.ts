import type { KubeconfigSource } from '../kube/load-kubeconfig.ts';
import { OPERATOR_NAMESPACE } from '../resources/labels.ts';
import { LOG_LEVELS, type LogLevel } from '../runtime/logger.ts';
import { isServiceLink } from '../runtime/service-link.ts';

/** What the operator is started with; everything else it learns from its `Cluster` resource and the control plane. */
export interface OperatorConfig {
  /** Where the operator, its Secrets and the `Cluster` resource live. */
  readonly namespace: string;
  readonly kubeconfig: KubeconfigSource;
  /** Where `/healthz`, `/readyz` and `/metrics` are served; absent: nowhere. Port 0 takes a free one. */
  readonly listen?: { readonly host: string; readonly port: number };
  /** Holds the Git cache, nothing that may not be lost. */
  readonly stateDir: string;
  readonly logLevel: LogLevel;
}

export const DEFAULT_STATE_DIR = '/var/lib/service-operator';

const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const LISTEN = /^(?:(?<host>\[[0-9a-fA-F:.]+\]|[^:\s]+):)?(?<port>\d{1,5})$/;

interface OperatorVariable {
  /** What it is for. */
  readonly purpose: string;
  /** Without it. */
  readonly absent: string;
  readonly expects: string;
  /** @throws Error with the reason that it cannot be read */
  readonly read: (text: string) => Partial<OperatorConfig>;
}

/** Every variable that this program reads. docs/reference/configuration.md is made from it. */
export const OPERATOR_VARIABLES: Readonly<Record<string, OperatorVariable>> = {
  SERVICE_OPERATOR_NAMESPACE: {
    purpose: 'The namespace that the operator, its Secrets and the Cluster resource live in.',
    absent: OPERATOR_NAMESPACE,
    expects: 'a namespace name (lower-case letters, digits, dashes)',
    read: (text) => {
      if (!NAMESPACE.test(text)) throw new Error('a namespace name is expected (lower-case letters, digits, dashes)');
      return { namespace: text };
    },
  },
  SERVICE_OPERATOR_KUBECONFIG: {
    purpose: 'How it reaches its cluster from outside.',
    absent: 'the account of its pod',
    expects: 'a kubeconfig file',
    read: (text) => ({ kubeconfig: { kind: 'file', path: text } }),
  },
  SERVICE_OPERATOR_LISTEN: {
    purpose: 'Where it serves `/healthz`, `/readyz`, `/metrics` and, with a certificate, admission.',
    absent: 'nowhere',
    expects: 'host:port or a port; port 0 takes a free one',
    read: (text) => ({ listen: readListen(text) }),
  },
  SERVICE_OPERATOR_STATE_DIR: {
    purpose: 'The Git cache; it may be lost.',
    absent: DEFAULT_STATE_DIR,
    expects: 'a directory',
    read: (text) => ({ stateDir: text }),
  },
  SERVICE_LOG_LEVEL: {
    purpose: 'How much is logged.',
    absent: 'info',
    expects: `one of ${LOG_LEVELS.join(', ')}`,
    read: (text) => {
      const level = LOG_LEVELS.find((known) => known === text);
      if (level === undefined) throw new Error(`one of ${LOG_LEVELS.join(', ')} is expected`);
      return { logLevel: level };
    },
  },
};

export const VARIABLE_NAMES: readonly string[] = Object.keys(OPERATOR_VARIABLES);

/** Why the start is stopped: one line that names the variable. */
export class ConfigError extends Error {}

/**
 * Reads the environment, once.
 *
 * @throws ConfigError for a malformed or unknown `SERVICE_…` variable: a typo must not pass as a default
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): OperatorConfig {
  let config: OperatorConfig = {
    namespace: OPERATOR_NAMESPACE,
    kubeconfig: { kind: 'in-cluster' },
    stateDir: DEFAULT_STATE_DIR,
    logLevel: 'info',
  };
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith('SERVICE_') || text === undefined) continue;
    const variable = Object.hasOwn(OPERATOR_VARIABLES, name) ? OPERATOR_VARIABLES[name] : undefined;
    if (variable === undefined) {
      if (isServiceLink(name)) continue;
      throw new ConfigError(`${name} is not known; the operator reads ${VARIABLE_NAMES.join(', ')}`);
    }
    if (text.trim() === '') throw new ConfigError(`${name} is empty; leave it out for the default`);
    try {
      config = { ...config, ...variable.read(text.trim()) };
    } catch (error) {
      throw new ConfigError(`${name}: ${(error as Error).message}, not ${JSON.stringify(text)}`, { cause: error });
    }
  }
  return config;
}

function readListen(text: string): { readonly host: string; readonly port: number } {
  const { host = '0.0.0.0', port = '' } = LISTEN.exec(text)?.groups ?? {};
  if (port === '' || Number(port) > 65_535) throw new Error('host:port or a port is expected');
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}
