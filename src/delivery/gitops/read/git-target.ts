import { isSshAddress } from '../../../git/remote/ssh-process.ts';
import type { AllowedSigner, GitCredential, PruneBreaker } from '../../../protocol/agent-config.ts';

/** Where the operator reads, as `/config` says, with the credential opened. */
export interface GitTarget {
  readonly url: string;
  readonly branch: string;
  /** Without leading or trailing slash; empty for the whole repository. */
  readonly path: string;
  /** Tree id of the directory as the control plane knows it; absent before the first commit. */
  readonly desiredRevision?: string;
  readonly credential?: GitCredential;
  /** PEM roots of the Git host's certificate; empty or absent: the system's. */
  readonly caCertificate?: string;
  /** Objects whose manifests vanished are deleted, behind the breaker. Absent: they are kept and reported. */
  readonly pruneOnRemoval?: boolean;
  readonly breaker?: PruneBreaker;
  /** Which removals a person accepted at the control plane, as the condition named them. */
  readonly acceptedRemovals?: string;
  /** Whose signatures of commits count; absent: nobody looks at them. */
  readonly allowedSigners?: readonly AllowedSigner[];
  /** The revision that is read whoever made the commits that led to it: a person looked at it. */
  readonly trustedRevision?: string;
}

/** What Git allows in a branch's name, and no more than a configuration file can hold. */
const BRANCH = /^(?!-)(?!.*(?:\.\.|\/\/|@\{|\.lock(?:\/|$)))[A-Za-z0-9._/-]{1,200}$/;
const SEGMENT = /^(?!\.{1,2}$)(?!\.git$)[A-Za-z0-9._-]{1,100}$/i;

/** Why a target cannot be used, as the message of a condition; undefined for one that can. */
export function targetIsUnusable(target: GitTarget, allowFile: boolean): string | undefined {
  if (isSshAddress(target.url)) return namesFault(target) ?? deployKeyFault(target);
  const url = URL.canParse(target.url) ? new URL(target.url) : undefined;
  const schemes = allowFile ? ['https:', 'http:', 'file:'] : ['https:', 'http:'];
  if (url === undefined || !schemes.includes(url.protocol) || /\s/.test(target.url)) {
    return 'the Git address is neither an http(s) URL nor one of ssh; correct it at the control plane';
  }
  if (url.username !== '' || url.password !== '') {
    return 'the Git address holds a credential, which belongs into the credential field; correct it at the control plane';
  }
  return namesFault(target);
}

function deployKeyFault({ credential }: GitTarget): string | undefined {
  if (credential?.ssh_private_key !== undefined && credential.ssh_known_hosts !== undefined) return undefined;
  return 'the Git address is over ssh and no deploy key came with it; set one to read with at the control plane';
}

function namesFault(target: GitTarget): string | undefined {
  if (!BRANCH.test(target.branch)) return `the branch name ${JSON.stringify(target.branch)} cannot be used`;
  if (target.path !== '' && !target.path.split('/').every((segment) => SEGMENT.test(segment))) {
    return `the directory ${JSON.stringify(target.path)} cannot be used`;
  }
  return undefined;
}

/** Of `clusters/…/<slug>` in a shared repository, or of `…/clusters/<slug>.git`, as the control plane serves it. */
export function slugIn({ path, url }: Pick<GitTarget, 'path' | 'url'>): { readonly slug?: string } {
  const place = path === '' ? url : path;
  const [, slug] = /(?:^|\/)clusters\/(?:[0-9a-f]{2}\/)?([a-z0-9][a-z0-9-]*)(?:\.git)?$/.exec(place) ?? [];
  return slug === undefined ? {} : { slug };
}
