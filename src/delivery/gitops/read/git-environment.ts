import { sshCommandEnvironment } from '../../../git/remote/ssh-process.ts';
import type { GitCredential } from '../../../protocol/agent-config.ts';

/** How git runs for the operator: what it may do is decided here and nowhere else. */
export interface GitEnvironmentOptions {
  readonly url: string;
  readonly home: string;
  readonly credential?: GitCredential;
  /** File with PEM roots for the Git host; absent: the system's. */
  readonly caFile?: string;
  /** Configuration of ssh with the credential's key in it; then ssh is all that is spoken. */
  readonly sshConfig?: string;
  /** `file:` remotes, for tests. */
  readonly allowFile?: boolean;
}

/**
 * The environment of every git process. Settings travel in `GIT_CONFIG_*` variables, so no credential is ever in an
 * argument, a URL or a file; the machine's own configuration is not read. Hooks, symlinks, submodules, helpers and prompts
 * are off, redirects are not followed (the credential must not go elsewhere), and only HTTP is spoken, or ssh with a key.
 */
export function gitEnvironment(options: GitEnvironmentOptions): Record<string, string> {
  const settings: [string, string][] = [
    ['core.hooksPath', '/dev/null'],
    ['core.symlinks', 'false'],
    ['core.fsmonitor', 'false'],
    ['core.askPass', ''],
    ['credential.helper', ''],
    ['submodule.recurse', 'false'],
    ['fetch.recurseSubmodules', 'false'],
    ['fetch.writeCommitGraph', 'false'],
    // Each fetch stays one pack: small ones would be spread over files that nothing ever collects.
    ['fetch.unpackLimit', '1'],
    ['protocol.version', '2'],
    ['protocol.allow', 'never'],
    ...(options.sshConfig === undefined ? ['http', 'https'] : ['ssh']).map((scheme): [string, string] => [
      `protocol.${scheme}.allow`,
      'always',
    ]),
    ['http.followRedirects', 'false'],
    // A connection that brings less than 1 KB/s for 20 s is dead.
    ['http.lowSpeedLimit', '1000'],
    ['http.lowSpeedTime', '20'],
    ['gc.auto', '0'],
    ['maintenance.auto', 'false'],
    ['safe.directory', '*'],
    ['advice.detachedHead', 'false'],
  ];
  if (options.allowFile === true) settings.push(['protocol.file.allow', 'always']);
  if (options.caFile !== undefined) settings.push(['http.sslCAInfo', options.caFile]);
  if (options.credential !== undefined && options.sshConfig === undefined) {
    const { username, password } = options.credential;
    const basic = Buffer.from(`${username}:${password}`, 'utf8').toString('base64');
    settings.push([`http.${options.url}.extraHeader`, `Authorization: Basic ${basic}`]);
  }
  const environment: Record<string, string> = {
    ...inherited(),
    HOME: options.home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_LITERAL_PATHSPECS: '1',
    ...(options.sshConfig === undefined ? {} : sshCommandEnvironment({ config: options.sshConfig })),
    GIT_CONFIG_COUNT: String(settings.length),
  };
  for (const [index, [name, value]] of settings.entries()) {
    environment[`GIT_CONFIG_KEY_${index}`] = name;
    environment[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return environment;
}

/** What git needs of the process's own environment: where programs are, and the way out through a proxy. */
function inherited(): Record<string, string> {
  const names = ['PATH', 'https_proxy', 'HTTPS_PROXY', 'http_proxy', 'no_proxy', 'NO_PROXY', 'SSL_CERT_FILE'];
  // oxlint-disable-next-line node/no-process-env
  const { env } = process;
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
