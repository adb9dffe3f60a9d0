import { Type, type Static } from 'typebox';
import { ProjectedCatalogEntry } from '../protocol/agent-config.ts';
import { CONNECTIVITY_MODES } from '../protocol/connectivity-mode.ts';
import { OperationTemplateDefinition } from '../protocol/operation-template.ts';
import type { KubeObject } from './kube-object.ts';
import { Conditions, freeForm, label, ObservedGeneration, oneOf, time } from './spec-parts.ts';

const strict = { additionalProperties: false } as const;
const chart = ProjectedCatalogEntry.properties.chart.properties;

export const ClusterSpec = Type.Object(
  {
    controlPlaneBaseUrl: Type.String({
      pattern: '^https?://[^\\s/?#]+[^\\s?#]*$',
      maxLength: 1024,
      description:
        'Address of the control plane, such as https://service.example.com; the operator calls it, never the other way round.',
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
          requireSignedCommits: Type.Optional(
            Type.Boolean({
              description: 'Read nothing from Git that a commit brought which none of the allowed signers signed.',
            }),
          ),
          mtls: Type.Optional(
            Type.Object(
              {
                enabled: Type.Optional(
                  Type.Boolean({
                    description:
                      'Present the client certificate and trust only the CA in the credential Secret (default: false).',
                  }),
                ),
              },
              { ...strict, description: 'Client certificates for calls to the control plane.' },
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

function names(of: string, description: string) {
  return Type.Array(Type.String({ maxLength: 63, description: of }), { maxItems: 1024, description });
}

const definition = OperationTemplateDefinition.properties;
const ProjectedTemplate = Type.Object(
  {
    name: Type.String({ maxLength: 63, description: 'Name of the operation template.' }),
    description: Type.Optional(Type.String({ maxLength: 500, description: 'What it does, for people.' })),
    parameters: Type.Optional(freeForm('JSON schema of its parameters.')),
    run: Type.Optional(
      Type.Object(
        {
          template: Type.String({ maxLength: 63, description: 'The built-in template that does the work.' }),
          parameters: Type.Optional(freeForm('Its parameters; $value and $optional stand for those of this one.')),
        },
        { description: 'What it runs; absent: it is the built-in template of that name.' },
      ),
    ),
    deadlineSeconds: definition.deadlineSeconds,
    retries: definition.retries,
  },
  { description: 'One operation template.' },
);

/** Besides conditions it holds the projection of the identity record, as `/config` answered it. */
export const ClusterStatus = Type.Object(
  {
    observedGeneration: Type.Optional(ObservedGeneration),
    clusterId: Type.Optional(Type.String({ maxLength: 64, description: 'The stable id that the control plane gave.' })),
    connectivityMode: Type.Optional(
      oneOf(CONNECTIVITY_MODES, { description: 'How intent reaches this cluster now: pull, push or gitops.' }),
    ),
    deliveryEpoch: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Raised by every mode switch; older work changes nothing.' }),
    ),
    configRevision: Type.Optional(Type.String({ maxLength: 128, description: 'Revision of the projection below.' })),
    allowedNamespaces: Type.Optional(
      Type.Array(label('Name of a namespace.'), {
        maxItems: 4096,
        description: 'Namespaces that the control plane lets the operator manage.',
      }),
    ),
    catalogEntries: Type.Optional(
      Type.Array(
        Type.Object(
          {
            entry: Type.String({
              maxLength: 63,
              description: 'Name of the catalog entry, as spec.catalogEntry of an ApplicationInstance gives it.',
            }),
            chart: Type.Object(
              {
                type: Type.Unsafe<'oci' | 'helm'>({
                  ...chart.type,
                  description: 'Where the chart is kept: oci or helm.',
                }),
                url: Type.String({
                  ...chart.url,
                  description: 'Address of the chart (oci) or of its repository (helm).',
                }),
                name: Type.String({ ...chart.name, description: 'Name of the chart in its registry or repository.' }),
              },
              { description: 'The chart that the entry stands for.' },
            ),
            versions: Type.String({
              maxLength: 256,
              description: 'Versions that may be installed, as a semver range such as >=6.5.0 <7.',
            }),
          },
          { description: 'One catalog entry.' },
        ),
        { maxItems: 1024, description: 'Catalog entries that may be installed here, with the chart each stands for.' },
      ),
    ),
    operationTemplates: Type.Optional(
      Type.Array(Type.String({ maxLength: 63, description: 'Name of an operation template.' }), {
        maxItems: 1024,
        description: 'Operation templates that may be run here.',
      }),
    ),
    operationTemplateDefinitions: Type.Optional(
      Type.Array(ProjectedTemplate, {
        maxItems: 256,
        description: 'Those of them that an admin made, and what an admin set of those that are built in.',
      }),
    ),
    approvals: Type.Optional(
      Type.Object(
        {
          namespaces: names('Name of a namespace.', 'Namespaces in which everything needs an approval.'),
          operationTemplates: names('Name of an operation template.', 'Operation templates that need an approval.'),
          catalogEntries: names(
            'Name of a catalog entry.',
            'Catalog entries that are installed only with an approval.',
          ),
          statements: Type.Array(
            Type.String({ maxLength: 8192, description: 'An approval, signed by the control plane (compact JWS).' }),
            { maxItems: 64, description: 'Approvals of what was approved by merging its proposal.' },
          ),
          pending: Type.Optional(
            Type.Array(
              Type.String({ maxLength: 512, description: 'One of them: <namespace>/<name>@<hash of the spec>.' }),
              {
                maxItems: 256,
                description: 'What was asked for and nobody has approved; it needs that, whatever is asked for since.',
              },
            ),
          ),
        },
        { description: 'What needs an approval here, and approvals that came apart from what they approve.' },
      ),
    ),
    security: Type.Optional(
      Type.Object(
        {
          requireSignedPayloads: Type.Boolean({ description: 'It wants what it did not sign refused.' }),
          requireEncryptedSecretPayloads: Type.Boolean({
            description: 'It wants jobs with chart values in the clear refused.',
          }),
        },
        { description: 'What the control plane requires besides spec.security.' },
      ),
    ),
    credential: Type.Optional(
      Type.Object(
        {
          expiresAt: Type.Optional(
            Type.String({
              maxLength: 64,
              description: 'When the credential ends, by RFC 3339, as the control plane says it.',
            }),
          ),
          rotateAfter: Type.Optional(
            Type.String({
              maxLength: 64,
              description: 'From when on the operator replaces the credential, by RFC 3339.',
            }),
          ),
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
    lastContactTime: Type.Optional(time('When the control plane last answered.')),
    operatorVersion: Type.Optional(
      Type.String({ maxLength: 64, description: 'Version of the operator that wrote this status.' }),
    ),
    odooPublicKey: Type.Optional(
      Type.String({
        maxLength: 4096,
        description: "The control plane's current key that verifies payload signatures, as compact JWK JSON.",
      }),
    ),
    signingKeys: Type.Optional(
      Type.Object(
        {
          registration: Type.Optional(
            Type.String({
              maxLength: 64,
              description: 'Fingerprint of the registration token whose registration pinned the first of them.',
            }),
          ),
          accepted: Type.Array(Type.String({ maxLength: 4096, description: 'A public key as compact JWK JSON.' }), {
            maxItems: 16,
            description: 'Keys whose signatures count here, the current one first.',
          }),
        },
        { description: "The control plane's signing keys that were pinned, or endorsed by one that was." },
      ),
    ),
    registration: Type.Optional(
      Type.Object(
        {
          token: Type.String({ maxLength: 64, description: 'Fingerprint of the token, never the token.' }),
          state: oneOf(['registered', 'refused'], { description: 'What became of it: registered or refused.' }),
          reason: Type.Optional(Type.String({ maxLength: 128, description: 'Why it was refused, for machines.' })),
          message: Type.Optional(
            Type.String({ maxLength: 4096, description: 'Why it was refused and what to do, for people.' }),
          ),
        },
        { description: 'The registration token that was offered last.' },
      ),
    ),
    conditions: Type.Optional(Conditions),
  },
  {
    description:
      'What was last observed of this membership, and what the control plane allows here; written by the operator alone.',
  },
);
export type ClusterStatus = Static<typeof ClusterStatus>;

export interface Cluster extends KubeObject {
  spec: ClusterSpec;
  status?: ClusterStatus;
}

export const CLUSTER_KIND = 'Cluster';
