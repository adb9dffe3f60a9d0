import type { ProjectionSigner } from '../../git/projection/projected-commit.ts';
import { trustedSigners, verifyCommit } from '../../git/signing/commit-signature.ts';
import type { CommitSigning } from './commit-signing.ts';

/**
 * Signs the commit that a cluster reads in place of one whose signature counts. Any other stays unsigned there: nobody can
 * have the control plane sign for them by writing to the shared repository.
 */
export function signProjection(signing: Pick<CommitSigning, 'allowedSigners' | 'sign'>): ProjectionSigner {
  return async ({ organizationId, payload, source }) => {
    const signers = trustedSigners(await signing.allowedSigners(organizationId));
    return verifyCommit(source, signers).state === 'trusted' ? await signing.sign(organizationId, payload) : undefined;
  };
}
