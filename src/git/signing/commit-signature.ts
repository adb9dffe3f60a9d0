import { parseSshPublicKey, type SshPublicKey, fingerprintOf } from './ssh-public-key.ts';
import { parseSshSignature, verifiesForGit } from './ssh-signature.ts';
import { SshFormatError } from './ssh-wire.ts';

/** A key whose signature counts, and whose it is. */
export interface TrustedSigner {
  readonly principal: string;
  readonly key: SshPublicKey;
}

export type CommitVerdict =
  | { readonly state: 'trusted'; readonly signer: TrustedSigner }
  | { readonly state: 'refused'; readonly why: string };

/** Lines of `allowed_signers`. One that cannot be read trusts nobody; the others count. */
export function trustedSigners(
  allowed: readonly { readonly principal: string; readonly public_key: string }[],
): readonly TrustedSigner[] {
  return allowed.flatMap(({ principal, public_key: line }) => {
    try {
      return [{ principal, key: parseSshPublicKey(line) }];
    } catch (error) {
      if (error instanceof SshFormatError) return [];
      throw error;
    }
  });
}

/** Whether one of these signed the commit, as its object's bytes are. `why` goes on from "commit <id> …". */
export function verifyCommit(bytes: Buffer, signers: readonly TrustedSigner[]): CommitVerdict {
  const parts = partSignedCommit(bytes);
  if (parts === undefined) return { state: 'refused', why: 'is not signed' };
  if (!parts.signature.startsWith('-----BEGIN SSH SIGNATURE-----')) {
    return { state: 'refused', why: 'is signed by something else than SSH, which is not verified here' };
  }
  try {
    const signature = parseSshSignature(parts.signature);
    const signer = signers.find(({ key }) => key.blob.equals(signature.key.blob));
    if (signer === undefined) {
      return {
        state: 'refused',
        why: `is signed by the key ${fingerprintOf(signature.key)}, which is not among the allowed signers`,
      };
    }
    if (verifiesForGit(signature, parts.payload)) return { state: 'trusted', signer };
    return {
      state: 'refused',
      why: `names the key ${fingerprintOf(signer.key)} of ${signer.principal}, which did not sign these bytes for git`,
    };
  } catch (error) {
    if (error instanceof SshFormatError) {
      return { state: 'refused', why: `has a signature that cannot be read: it ${error.message}` };
    }
    throw error;
  }
}

/**
 * A commit without its signature, which is what was signed, and the signature; undefined without one. One with several, or
 * with one of another kind of repository, counts as not signed: readers disagree about which of them says what.
 */
export function partSignedCommit(bytes: Buffer): { readonly payload: Buffer; readonly signature: string } | undefined {
  const end = bytes.indexOf('\n\n');
  if (end === -1) return undefined;
  // With the line break that ends the last line.
  const lines = bytes.toString('latin1', 0, end + 1).split(/(?<=\n)/);
  const kept: string[] = [];
  const signature: string[] = [];
  let inSignature = false;
  let signatures = 0;
  for (const line of lines) {
    if (!line.startsWith(' ')) inSignature = line.startsWith('gpgsig ');
    if (line.startsWith('gpgsig')) signatures += 1;
    if (!inSignature) kept.push(line);
    else signature.push(line.startsWith(' ') ? line.slice(1) : line.slice('gpgsig '.length));
  }
  if (signatures !== 1 || signature.length === 0) return undefined;
  return {
    payload: Buffer.concat([Buffer.from(kept.join(''), 'latin1'), bytes.subarray(end + 1)]),
    signature: signature.join(''),
  };
}
