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

/** Which variables there are, and how each is read. A reader throws the reason that it cannot be. */
const VARIABLES: Readonly<Record<string, (text: string) => Partial<OperatorConfig>>> = {
  SERVICE_OPERATOR_NAMESPACE: (text) => {
    if (!NAMESPACE.test(text)) throw new Error('a namespace name is expected (lower-case letters, digits, dashes)');
    return { namespace: text };
  },
  SERVICE_OPERATOR_KUBECONFIG: (text) => ({ kubeconfig: { kind: 'file', path: text } }),
  SERVICE_OPERATOR_LISTEN: (text) => ({ listen: readListen(text) }),
  SERVICE_OPERATOR_STATE_DIR: (text) => ({ stateDir: text }),
  SERVICE_LOG_LEVEL: (text) => {
    const level = LOG_LEVELS.find((known) => known === text);
    if (level === undefined) throw new Error(`one of ${LOG_LEVELS.join(', ')} is expected`);
    return { logLevel: level };
  },
};

export const VARIABLE_NAMES: readonly string[] = Object.keys(VARIABLES);

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
    const read = Object.hasOwn(VARIABLES, name) ? VARIABLES[name] : undefined;
    if (read === undefined) {
      if (isServiceLink(name)) continue;
      throw new ConfigError(`${name} is not known; the operator reads ${Object.keys(VARIABLES).join(', ')}`);
    }
    if (text.trim() === '') throw new ConfigError(`${name} is empty; leave it out for the default`);
    try {
      config = { ...config, ...read(text.trim()) };
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
