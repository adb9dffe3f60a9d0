import { Type } from 'typebox';
import { fingerprintOf, parseSshPublicKey } from '../../../git/signing/ssh-public-key.ts';
import {
  addCommitSigner,
  revokeCommitSigner,
  rotateCommitSigningKey,
} from '../../commit-signing/change-commit-signers.ts';
import { allowedSignersFile, allowedSignersOf } from '../../commit-signing/commit-signing.ts';
import { signsNow } from '../../store/commit-signing-keys.ts';
import type { CommitSigningKeyRow } from '../../store/review-rows.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ifKnown } from './cluster-view.ts';
import { bodyMayBeAbsent, NoBody } from './named-cluster.ts';

/** A key whose signature of a commit counts, unless it is `revoked`. `current` signs; `added` is somebody else's. */
interface CommitSigningKeyView {
  readonly id: string;
  readonly principal: string;
  readonly state: 'current' | 'retired' | 'added' | 'revoked';
  /** As `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
  readonly publicKey: string;
  readonly createdAt: string;
  readonly addedBy?: string;
  readonly retiredAt?: string;
  readonly revokedAt?: string;
  readonly revokedReason?: string;
}

const KeyParams = Type.Object({ key: Type.String({ minLength: 1, maxLength: 64 }) });

const AddKey = Type.Object(
  {
    principal: Type.String({
      minLength: 3,
      maxLength: 256,
      pattern: '^[^\\s,"#*?!@]+@[^\\s,"#*?!@]+$',
      description: 'an e-mail address, as in allowed_signers',
    }),
    publicKey: Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'the line of a .pub file: ssh-ed25519, ecdsa-sha2-nistp256, -nistp384, -nistp521 or ssh-rsa',
    }),
  },
  { additionalProperties: false },
);

const Revocation = Type.Object(
  {
    reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
    trustPresentRevisions: Type.Optional(
      Type.Boolean({
        description: 'vouches for the directories of all clusters that require signed commits, as they are',
      }),
    ),
  },
  { additionalProperties: false },
);

/** `GET`, `POST /commit-signing-keys`; `POST …/rotate`; `POST …/{id}/revoke`. The keys are one organization's. */
export function commitSigningKeyRoutes(app: HttpServer, deps: AdminDeps): void {
  const path = '/commit-signing-keys';

  app.get(path, async (request, reply) => {
    const { organization } = adminOf(request);
    const rows = await deps.commitSigning.list(organization.id);
    return await reply.send({
      items: rows.map(viewKey),
      allowedSigners: allowedSignersFile(allowedSignersOf(rows)),
    });
  });

  app.post(path, { schema: { body: AddKey } }, async (request, reply) => {
    return await reply.code(201).send(viewKey(await addCommitSigner(deps, adminOf(request), request.body)));
  });

  const rotation = { schema: { body: NoBody }, preValidation: bodyMayBeAbsent };
  app.post(`${path}/rotate`, rotation, async (request, reply) => {
    return await reply.code(201).send(viewKey(await rotateCommitSigningKey(deps, adminOf(request))));
  });

  const revocation = { schema: { params: KeyParams, body: Revocation }, preValidation: bodyMayBeAbsent };
  app.post(`${path}/:key/revoke`, revocation, async (request, reply) => {
    const { reason, trustPresentRevisions: trustsPresent = false } = request.body;
    const row = await revokeCommitSigner(deps, adminOf(request), { id: request.params.key, reason, trustsPresent });
    return await reply.send(viewKey(row));
  });
}

function viewKey(row: CommitSigningKeyRow): CommitSigningKeyView {
  return {
    id: row.id,
    principal: row.principal,
    state: stateOf(row),
    fingerprint: fingerprintOf(parseSshPublicKey(row.public_key)),
    publicKey: row.public_key,
    createdAt: row.created_at,
    ...ifKnown('addedBy', row.added_by),
    ...ifKnown('retiredAt', row.retired_at),
    ...ifKnown('revokedAt', row.revoked_at),
    ...ifKnown('revokedReason', row.revoked_reason),
  };
}

function stateOf(row: CommitSigningKeyRow): CommitSigningKeyView['state'] {
  if (row.revoked_at !== null) return 'revoked';
  if (signsNow(row)) return 'current';
  return row.private_key_sealed === null ? 'added' : 'retired';
}
