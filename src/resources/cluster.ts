import { Type, type Static } from 'typebox';
import { ProjectedCatalogEntry } from '../protocol/agent-config.ts';
import { ConnectivityMode } from '../protocol/connectivity-mode.ts';
import type { KubeObject } from './kube-object.ts';
import { Conditions, label, ObservedGeneration } from './spec-parts.ts';

const strict = { additionalProperties: false } as const;

export const ClusterSpec = Type.Object(
  {
    controlPlaneBaseUrl: Type.String({
      pattern: '^https?://[^\\s/?#]+[^\\s?#]*$',
      maxLength: 1024,
      description: 'Base URL of the control plane that the operator posts to.',
    }),
    registration: Type.Optional(
      Type.Object(
        {
          token: Type.Optional(
            Type.String({ minLength: 1, maxLength: 256, description: 'The one-time registration token; used once.' }),
          ),
        },
        { ...strict, description: 'How the cluster registers.' },
      ),
    ),
    security: Type.Optional(
      Type.Object(
        {
          requireSignedPayloads: Type.Optional(
            Type.Boolean({ description: "Refuse what does not carry the control plane's signature." }),
          ),
          requireEncryptedSecretPayloads: Type.Optional(
            Type.Boolean({ description: 'Refuse secret values that are not encrypted to this cluster.' }),
          ),
          mtls: Type.Optional(
            Type.Object(
              {
                enabled: Type.Optional(Type.Boolean({ description: 'Present the client certificate and pin the CA.' })),
              },
              { ...strict, description: 'Client certificates.' },
            ),
          ),
        },
        {
          ...strict,
          description: "The cluster admin's own requirements; the control plane may tighten, never loosen them.",
        },
      ),
    ),
  },
  { ...strict, description: 'How this cluster is joined to its control plane.' },
);
export type ClusterSpec = Static<typeof ClusterSpec>;

/** Besides conditions it holds the projection of the identity record, as `/config` answered it. */
export const ClusterStatus = Type.Object(
  {
    observedGeneration: Type.Optional(ObservedGeneration),
    clusterId: Type.Optional(Type.String({ maxLength: 64, description: 'The stable id that the control plane gave.' })),
    connectivityMode: Type.Optional(ConnectivityMode),
    deliveryEpoch: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Raised by every mode switch; older work changes nothing.' }),
    ),
    configRevision: Type.Optional(Type.String({ maxLength: 128, description: 'Revision of the projection below.' })),
    allowedNamespaces: Type.Optional(
      Type.Array(label('A namespace.'), { description: 'Namespaces that the operator may manage.' }),
    ),
    catalogEntries: Type.Optional(
      Type.Array(
        Type.Object(
          {
            entry: Type.String({ maxLength: 63, description: 'Name of the entry.' }),
            chart: Type.Object(ProjectedCatalogEntry.properties.chart.properties, { description: 'The chart.' }),
            versions: Type.String({ maxLength: 256, description: 'Allowed versions, a semver range.' }),
          },
          { description: 'One entry.' },
        ),
        { description: 'Catalog entries that may be installed, with the chart each stands for.' },
      ),
    ),
    operationTemplates: Type.Optional(
      Type.Array(Type.String({ maxLength: 63, description: 'A template.' }), {
        description: 'Operation templates that may be run.',
      }),
    ),
    credential: Type.Optional(
      Type.Object(
        {
          expiresAt: Type.Optional(Type.String({ maxLength: 64, description: 'RFC 3339.' })),
          rotateAfter: Type.Optional(Type.String({ maxLength: 64, description: 'RFC 3339.' })),
        },
        { description: "When the cluster's credential is replaced and when it ends; never the credential itself." },
      ),
    ),
    attemptedRevision: Type.Optional(
      Type.String({
        maxLength: 256,
        description: 'The source revision that was read last; it is being applied, or was.',
      }),
    ),
    appliedRevision: Type.Optional(
      Type.String({ maxLength: 256, description: 'The source revision of which everything was applied last.' }),
    ),
    lastContactTime: Type.Optional(
      Type.String({ maxLength: 64, description: 'RFC 3339; when the control plane last answered.' }),
    ),
    operatorVersion: Type.Optional(Type.String({ maxLength: 64, description: 'Version of the operator.' })),
    odooPublicKey: Type.Optional(
      Type.String({
        maxLength: 1024,
        description: "The control plane's current key that verifies payload signatures, as compact JWK JSON.",
      }),
    ),
    conditions: Type.Optional(Conditions),
  },
  { description: 'What was last observed, and what the control plane allows here.' },
);
export type ClusterStatus = Static<typeof ClusterStatus>;

export interface Cluster extends KubeObject {
  spec: ClusterSpec;
  status?: ClusterStatus;
}

export const CLUSTER_KIND = 'Cluster';
