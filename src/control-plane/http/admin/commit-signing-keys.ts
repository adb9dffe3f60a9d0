import { Type, type Static } from 'typebox';
import { fingerprintOf, parseSshPublicKey } from '../../../git/signing/ssh-public-key.ts';
import {
  addCommitSigner,
  revokeCommitSigner,
  rotateCommitSigningKey,
} from '../../commit-signing/change-commit-signers.ts';
import { allowedSignersFile, allowedSignersOf } from '../../commit-signing/commit-signing.ts';
import { signsNow } from '../../store/commit-signing-keys.ts';
import type { CommitSigningKeyRow } from '../../store/review-rows.ts';
import { answerOf, answers, listOf, oneOf, Time } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { ifKnown } from './cluster-view.ts';
import { bodyMayBeAbsent, NoBody } from './named-cluster.ts';

/** A key whose signature of a commit counts, unless it is `revoked`. `current` signs; `added` is somebody else's. */
const CommitSigningKeyAnswer = answerOf('CommitSigningKeyAnswer', {
  id: Type.String(),
  principal: Type.String(),
  state: oneOf(['current', 'retired', 'added', 'revoked']),
  fingerprint: Type.String({ description: 'as ssh-keygen -l prints it' }),
  publicKey: Type.String(),
  createdAt: Time,
  addedBy: Type.Optional(Type.String()),
  retiredAt: Type.Optional(Time),
  revokedAt: Type.Optional(Time),
  revokedReason: Type.Optional(Type.String()),
});
type CommitSigningKeyView = Static<typeof CommitSigningKeyAnswer>;
const CommitSigningKeysAnswer = answerOf('CommitSigningKeysAnswer', {
  items: listOf(CommitSigningKeyAnswer),
  allowedSigners: Type.String({ description: 'a file for gpg.ssh.allowedSignersFile' }),
});

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

const list = {
  tags: ['commit-signing'],
  operationId: 'listCommitSigningKeys',
  summary: 'Keys whose signatures of commits count',
  response: answers({ 200: CommitSigningKeysAnswer }),
};
const add = {
  tags: ['commit-signing'],
  operationId: 'addCommitSigningKey',
  summary: "Lets the signatures of somebody's key count",
  body: AddKey,
  response: answers({ 201: CommitSigningKeyAnswer }),
};
const rotate = {
  tags: ['commit-signing'],
  operationId: 'rotateCommitSigningKey',
  summary: 'A new key for the commits of the control plane',
  body: NoBody,
  response: answers({ 201: CommitSigningKeyAnswer }),
};
const revoke = {
  tags: ['commit-signing'],
  operationId: 'revokeCommitSigningKey',
  summary: 'Lets the signatures of a key count no longer',
  params: KeyParams,
  body: Revocation,
  response: answers({ 200: CommitSigningKeyAnswer }),
};

/** `GET`, `POST /commit-signing-keys`; `POST …/rotate`; `POST …/{id}/revoke`. The keys are one organization's. */
export function commitSigningKeyRoutes(app: HttpServer, deps: AdminDeps): void {
  const path = '/commit-signing-keys';

  app.get(path, { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const rows = await deps.commitSigning.list(organization.id);
    return await reply.send({
      items: rows.map(viewKey),
      allowedSigners: allowedSignersFile(allowedSignersOf(rows)),
    });
  });

  app.post(path, { schema: add }, async (request, reply) => {
    return await reply.code(201).send(viewKey(await addCommitSigner(deps, adminOf(request), request.body)));
  });

  const rotation = { schema: rotate, preValidation: bodyMayBeAbsent };
  app.post(`${path}/rotate`, rotation, async (request, reply) => {
    return await reply.code(201).send(viewKey(await rotateCommitSigningKey(deps, adminOf(request))));
  });

  const revocation = { schema: revoke, preValidation: bodyMayBeAbsent };
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
