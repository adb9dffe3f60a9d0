import type { FetchLike } from '../receive-pack.ts';
import type { GitRemote } from './git-remote.ts';
import { HttpRemote } from './http-remote.ts';
import type { NativeLink } from './native-link.ts';
import { SshRemote } from './ssh-remote.ts';

/** The way that an address asks for. */
export function openRemote(deps: {
  readonly url: string;
  readonly fetchLike?: FetchLike;
  readonly link?: NativeLink;
}): GitRemote {
  return /^https?:\/\//.test(deps.url) ? new HttpRemote(deps) : new SshRemote(deps);
}
