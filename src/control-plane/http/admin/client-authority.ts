import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';

/** `GET /client-authority`: PEM of the authorities of client certificates, for a proxy that verifies them. */
export function clientAuthorityRoute(app: HttpServer, deps: AdminDeps): void {
  app.get('/client-authority', async (_request, reply) => {
    const certificates = await deps.clientAuthority.certificates();
    return await reply.send({ certificates: certificates.join('') });
  });
}
