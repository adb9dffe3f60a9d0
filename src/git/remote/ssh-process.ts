import type { SshCredential } from '../git-credential.ts';
import type { NativeLink } from './native-link.ts';
import { PrivateFiles } from './private-files.ts';

/** Where an ssh address leads. */
export interface SshAddress {
  readonly user: string | undefined;
  readonly hostname: string;
  readonly port: number | undefined;
  /** As the host's command takes it. */
  readonly path: string;
}

const CONNECT_TIMEOUT_S = 15;

const SSH_URL =
  /^ssh:\/\/(?:[A-Za-z0-9._-]+@)?(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?\/[A-Za-z0-9._~/+@-]+$/;
const SCP_LIKE = /^(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?!\/\/|-)[A-Za-z0-9._~/+@-]+$/;

/** `ssh://user@host:port/path` or `user@host:path`, with nothing in it that ssh, git or a shell could read otherwise. */
export function isSshAddress(url: string): boolean {
  return SSH_URL.test(url) || SCP_LIKE.test(url);
}

/** @throws Error where it is none; repositories are checked when they are recorded */
export function sshAddressOf(url: string): SshAddress {
  if (URL.canParse(url) && url.startsWith('ssh://')) {
    const { username, hostname, port, pathname } = new URL(url);
    return {
      user: username === '' ? undefined : username,
      hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? undefined : Number(port),
      path: pathname.replace(/^\/(?=~)/, ''),
    };
  }
  const [, user, hostname = '', path = ''] = /^(?:([^@:/]+)@)?([^@:/]+):(.+)$/.exec(url) ?? [];
  if (hostname === '' || path === '') throw new Error('this is not an ssh address');
  return { user, hostname, port: undefined, path };
}

/** The configuration of one ssh process, in files that only it can read and that are gone with it. */
export interface SshFiles extends AsyncDisposable {
  readonly config: string;
}

/**
 * Writes the key, the known hosts, and a configuration that makes ssh believe those alone: no agent, no other key, no
 * question, no file of the user's or the machine's.
 */
export async function writeSshFiles(
  address: SshAddress,
  credential: SshCredential,
  link: NativeLink,
): Promise<SshFiles> {
  const pinned = await link.resolve?.(address.hostname);
  const files = await PrivateFiles.make();
  try {
    const key = await files.write('key', `${credential.privateKey.expose().trim()}\n`);
    const knownHosts = await files.write('known_hosts', `${credential.knownHosts.trim()}\n`);
    const { hostname, port } = address;
    const lines = [
      'Host *',
      'BatchMode yes',
      'IdentitiesOnly yes',
      'IdentityAgent none',
      `IdentityFile ${key}`,
      `UserKnownHostsFile ${knownHosts}`,
      'GlobalKnownHostsFile /dev/null',
      'StrictHostKeyChecking yes',
      'CheckHostIP no',
      'UpdateHostKeys no',
      'VerifyHostKeyDNS no',
      // The name that known_hosts has, whatever address it is called at.
      `HostKeyAlias ${port === undefined || port === 22 ? hostname : `[${hostname}]:${port}`}`,
      ...(pinned === undefined ? [] : [`HostName ${pinned}`]),
      'PreferredAuthentications publickey',
      `ConnectTimeout ${CONNECT_TIMEOUT_S}`,
      'ConnectionAttempts 1',
      'ServerAliveInterval 15',
      'ServerAliveCountMax 4',
      'ControlMaster no',
      'ControlPath none',
      'ForwardAgent no',
      'ForwardX11 no',
      'ClearAllForwardings yes',
      'PermitLocalCommand no',
      'RequestTTY no',
      'LogLevel ERROR',
    ];
    const config = await files.write('config', `${lines.join('\n')}\n`);
    return { config, [Symbol.asyncDispose]: async () => await files[Symbol.asyncDispose]() };
  } catch (error) {
    await files[Symbol.asyncDispose]();
    throw error;
  }
}

/** How native git is told to use them. */
export function sshCommandEnvironment({ config }: Pick<SshFiles, 'config'>): Record<string, string> {
  // Read by a shell; the path is this program's own and has nothing in it that a shell reads.
  return { GIT_SSH_VARIANT: 'ssh', GIT_SSH_COMMAND: `ssh -F ${config}` };
}

/** Arguments that lead to the host; the command follows them. */
export function sshArguments({ config }: SshFiles, { user, hostname, port }: SshAddress): string[] {
  return [
    '-F',
    config,
    ...(port === undefined ? [] : ['-p', String(port)]),
    ...(user === undefined ? [] : ['-l', user]),
    '--',
    hostname,
  ];
}
