import type { ProjectionSigner } from '../../git/projection/projected-commit.ts';
import { trustedSigners, verifyCommit } from '../../git/signing/commit-signature.ts';
import { fingerprintOf } from '../../git/signing/ssh-public-key.ts';
import { parseSshSignature } from '../../git/signing/ssh-signature.ts';
import type { CommitSigning } from './commit-signing.ts';

/**
 * Signs the commit that a cluster reads in place of one whose signature counts. Any other stays unsigned there: nobody can
 * have the control plane sign for them by writing to the shared repository.
 */
export function signProjection(signing: Pick<CommitSigning, 'allowedSigners' | 'sign'>): ProjectionSigner {
  return async (organizationId) => {
    const signers = trustedSigners(await signing.allowedSigners(organizationId));
    return {
      keys: new Set(signers.map(({ key }) => fingerprintOf(key))),
      signerOf: (commit) => {
        const verdict = verifyCommit(commit, signers);
        return verdict.state === 'trusted' ? fingerprintOf(verdict.signer.key) : undefined;
      },
      sign: async (payload) => {
        const signature = await signing.sign(organizationId, payload);
        return { signature, key: fingerprintOf(parseSshSignature(signature).key) };
      },
    };
  };
}
