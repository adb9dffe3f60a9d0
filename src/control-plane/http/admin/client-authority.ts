import type { Kysely } from 'kysely';
import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { currentAgentCredential } from '../../store/agent-credentials.ts';
import type { ClusterRow, Database } from '../../store/schema.ts';
import { answerOf, answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';

const AuthorityAnswer = answerOf('ClientAuthorityAnswer', { certificates: Type.String({ description: 'PEM' }) });
const show = {
  tags: ['organization'],
  operationId: 'getClientAuthority',
  summary: 'The authorities of client certificates, for a proxy that verifies them',
  response: answers({ 200: AuthorityAnswer }),
};

/** `GET /client-authority`: PEM of the authorities of client certificates, for a proxy that verifies them. */
export function clientAuthorityRoute(app: HttpServer, deps: AdminDeps): void {
  app.get('/client-authority', { schema: show }, async (_request, reply) => {
    const certificates = await deps.clientAuthority.certificates();
    return await reply.send({ certificates: certificates.join('') });
  });
}

/**
 * So that nobody shuts a cluster out by asking for what does not get here: mTLS may be off there, or a proxy keep it back.
 *
 * @throws AppError `conflict`
 */
export async function refuseUnseenCertificate(
  db: Kysely<Database>,
  { id, slug }: Pick<ClusterRow, 'id' | 'slug'>,
): Promise<void> {
  const credential = await currentAgentCredential(db, id);
  if (credential !== undefined && credential.certified_at !== null) return;
  throw new AppError(
    'conflict',
    `no request of cluster ${slug} has come with its client certificate and its present credential, so its writes would be refused from now on; see docs/mtls.md`,
    { faults: [{ path: '/requireClientCertificate', message: 'no client certificate was seen yet' }] },
  );
}
