import { Secret } from '../runtime/secret.ts';

/** What a Git host takes as HTTP Basic. Any user name goes with a token on most hosts. */
export interface HttpCredential {
  readonly username: string;
  readonly password: Secret;
  /**
   * Whether it was issued only now: hosts answer 401 or 404 for the first seconds, until all of their servers know it. Then
   * it is "not active yet", and nothing is concluded from the answer. Absent: never.
   */
  readonly isFresh?: () => boolean;
}

/** A deploy key, and the host's own keys as lines of `known_hosts`: no others are believed. */
export interface SshCredential {
  /** PEM, as `ssh-keygen` writes it; without a passphrase. */
  readonly privateKey: Secret;
  readonly knownHosts: string;
}

export type GitCredential = HttpCredential | SshCredential;

export function isSshCredential(credential: GitCredential): credential is SshCredential {
  return 'privateKey' in credential;
}

/** Whether nothing is to be concluded yet from a host that does not take it. */
export function isFresh(credential: GitCredential): boolean {
  return !isSshCredential(credential) && credential.isFresh?.() === true;
}

/** Value of the `Authorization` header. */
export function authorizationOf(credential: HttpCredential): Secret {
  const pair = `${credential.username}:${credential.password.expose()}`;
  return new Secret(`Basic ${Buffer.from(pair, 'utf8').toString('base64')}`);
}
