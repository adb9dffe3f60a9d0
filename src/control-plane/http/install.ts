import { Type } from 'typebox';
import { readInstallFiles } from '../../install/install-files.ts';
import { renderCrds, renderOperator } from '../../install/render-install.ts';
import { AppError } from '../../protocol/app-error.ts';
import { INSTALL_PATHS, type InstallLinks } from '../install-links.ts';
import { findCluster } from '../store/clusters.ts';
import type { Store } from '../store/open-store.ts';
import { answers } from './openapi/answers.ts';
import type { HttpServer } from './server.ts';

const SignedQuery = Type.Object(
  {
    cluster: Type.String({ minLength: 1, maxLength: 64 }),
    expires: Type.Integer({ minimum: 0, maximum: 99_999_999_999 }),
    signature: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', description: 'the signature of a link, whole' }),
  },
  { additionalProperties: false },
);

/** RFC 9512. */
const YAML_MEDIA_TYPE = 'application/yaml; charset=utf-8';

export interface InstallRoutesDeps {
  readonly store: Pick<Store, 'db'>;
  readonly links: InstallLinks;
  readonly baseUrl: () => string;
  /** Image of the operator; absent: the one in `templates/install`. */
  readonly operatorImage: string | undefined;
}

const yaml = {
  description: 'What kubectl apply -f takes.',
  content: { 'application/yaml': { schema: Type.String() } },
};
const CRDS = {
  tags: ['install'],
  operationId: 'getInstallCrds',
  summary: 'The custom resource definitions, by a signed link',
  querystring: SignedQuery,
  response: answers({ 200: yaml }),
};
const OPERATOR = {
  tags: ['install'],
  operationId: 'getInstallOperator',
  summary: 'The operator for one cluster, by a signed link',
  querystring: SignedQuery,
  response: answers({ 200: yaml }),
};

/**
 * `GET /install/crds.yaml`, `/install/operator.yaml`: what `kubectl apply -f` takes, by a signed link and without a
 * credential. No answer ever holds a token: the registration token reaches the cluster in a Secret.
 */
export function installRoutes(app: HttpServer, deps: InstallRoutesDeps): void {
  const files = readInstallFiles();
  const crds = renderCrds(files).text;
  app.register(async (scope: HttpServer) => {
    scope.addHook('onRequest', async (_request, reply) => {
      reply.header('cache-control', 'no-store');
    });

    scope.get(INSTALL_PATHS.crds, { schema: CRDS }, async (request, reply) => {
      deps.links.verify(INSTALL_PATHS.crds, request.query);
      return await reply.type(YAML_MEDIA_TYPE).serializer(asText).send(crds);
    });

    scope.get(INSTALL_PATHS.operator, { schema: OPERATOR }, async (request, reply) => {
      deps.links.verify(INSTALL_PATHS.operator, request.query);
      const cluster = await findCluster(deps.store.db, request.query.cluster);
      if (cluster === undefined) throw new AppError('not_found', 'the cluster of this link is gone');
      const { text } = renderOperator(files, {
        cluster: { slug: cluster.slug, baseUrl: deps.baseUrl() },
        ...(deps.operatorImage === undefined ? {} : { image: deps.operatorImage }),
      });
      return await reply.type(YAML_MEDIA_TYPE).serializer(asText).send(text);
    });
  });
}

const asText = (payload: unknown): string => String(payload);
