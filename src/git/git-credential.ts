import { Secret } from '../runtime/secret.ts';

/** What a Git host takes as HTTP Basic. Any user name goes with a token on most hosts. */
export interface GitCredential {
  readonly username: string;
  readonly password: Secret;
}

/** Value of the `Authorization` header. */
export function authorizationOf(credential: GitCredential): Secret {
  const pair = `${credential.username}:${credential.password.expose()}`;
  return new Secret(`Basic ${Buffer.from(pair, 'utf8').toString('base64')}`);
}
