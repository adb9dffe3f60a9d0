import type { GitCredential } from '../git-credential.ts';
import type { Advertisement, Answered, PackPush } from '../receive-pack.ts';

/** What one native git process needs to reach a host. Gone with its files when it is disposed of. */
export interface NativeAccess extends AsyncDisposable {
  /** Settings and credentials: never in an argument, an address or a repository's configuration. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A repository at its host, by whatever way it is reached. */
export interface GitRemote {
  readonly url: string;
  /** Branches and capabilities before a push. Also tells whether a credential may write. */
  advertise(credential: GitCredential, signal: AbortSignal): Promise<Answered<Advertisement>>;
  /** Moves one branch by compare-and-swap, never by force. `unavailable` leaves open whether it happened. */
  push(push: PackPush, credential: GitCredential, signal: AbortSignal): Promise<Answered<undefined>>;
  /** For native git, which fetches. */
  native(credential: GitCredential): Promise<NativeAccess>;
}

/** Of every native git that talks to a host: it is asked for nothing, tidies nothing, and follows nobody elsewhere. */
export const NATIVE_SETTINGS: readonly (readonly [string, string])[] = [
  ['credential.helper', ''],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
];
