import { Type, type Static } from 'typebox';
import { ConnectivityMode } from '../../../protocol/connectivity-mode.ts';
import { SecuritySettings } from '../../cluster-settings.ts';
import { GitSettings } from '../../git/git-settings.ts';
import { PushCredentialInfo, PushProbe, PushReach } from '../../push/push-credential-info.ts';
import { SWITCH_STATES } from '../../store/mode-rows.ts';
import { answerOf, ConditionAnswer, listOf, oneOf, pageOf, Time, Warnings } from '../openapi/answers.ts';
import { CLUSTER_STANDING } from './cluster-standing.ts';
import { INTERVAL_NAMES, IntervalsAnswer } from './intervals-change.ts';

/** A cluster's push credential. Nothing secret. */
export const PushAnswer = answerOf('PushAnswer', {
  state: oneOf(['missing', 'untried', 'ready', 'failing', 'refused', 'expired']),
  server: Type.Optional(Type.String()),
  user: Type.Optional(Type.String()),
  proof: Type.Optional(PushCredentialInfo.properties.proof),
  proxy: Type.Optional(Type.String()),
  setAt: Type.Optional(Time),
  setBy: Type.Optional(Type.String()),
  expiresAt: Type.Optional(Time),
  renewable: Type.Optional(
    Type.Boolean({ description: 'whether its account may ask for tokens of its own; absent while nobody has looked' }),
  ),
  renewAt: Type.Optional(Time),
  renewedAt: Type.Optional(Time),
  renewalFault: Type.Optional(Type.String({ description: 'why it could not be renewed the last time' })),
  reach: Type.Optional(PushReach),
  probe: Type.Optional(PushProbe),
});
export type PushView = Static<typeof PushAnswer>;

const properties = {
  id: Type.String(),
  slug: Type.String(),
  displayName: Type.String(),
  ...CLUSTER_STANDING,
  organization: Type.String(),
  status: oneOf(['Pending', 'Active']),
  disabledAt: Type.Optional(Time),
  connectivityMode: ConnectivityMode,
  allowedNamespaces: listOf(Type.String()),
  allowedCatalogEntries: listOf(Type.String()),
  allowedOperationTemplates: listOf(Type.String()),
  approvalNamespaces: listOf(Type.String({ description: 'a namespace in which everything needs an approval' })),
  intervals: IntervalsAnswer,
  ownIntervals: listOf(oneOf(INTERVAL_NAMES)),
  deliverIntents: Type.Boolean({ description: 'pull mode: jobs of kind `intent` instead of `apply` and `delete`' }),
  requireClientCertificate: Type.Boolean({ description: 'whether its writes need its client certificate' }),
  /** What this control plane requires; the Cluster resource may require more. */
  security: SecuritySettings,
  git: Type.Optional(
    Type.Object({
      repository: Type.String(),
      url: Type.String(),
      branch: Type.String(),
      path: Type.String(),
      ...Type.Required(GitSettings).properties,
    }),
  ),
  clusterUid: Type.Optional(
    Type.String({ description: 'UID of the namespace kube-system of the cluster that the record is bound to' }),
  ),
  conditions: listOf(ConditionAnswer),
  lastContactAt: Type.Optional(Time),
  credential: Type.Optional(
    Type.Object({
      expiresAt: Time,
      rotateAfter: Time,
      certified: Type.Boolean({ description: "a request came with it and the cluster's client certificate" }),
    }),
  ),
  desiredRevision: Type.Optional(
    Type.String({ description: "tree id of the cluster's directory that the operator should have applied" }),
  ),
  trustedRevision: Type.Optional(
    Type.String({ description: 'the revision that an admin vouched for, whoever signed what led to it' }),
  ),
  appliedRevision: Type.Optional(Type.String({ description: 'what it says it has applied' })),
  operatorVersion: Type.Optional(Type.String()),
  desiredOperatorVersion: Type.Optional(Type.String({ description: 'what an admin asked it to run' })),
  operatorSupport: Type.Optional(oneOf(['supported', 'tooOld', 'newer'])),
  push: Type.Optional(PushAnswer),
  modeSwitch: Type.Optional(
    Type.Object(
      { id: Type.String(), state: oneOf(SWITCH_STATES), to: ConnectivityMode },
      { description: 'the switch of mode that is under way' },
    ),
  ),
  createdAt: Time,
  registeredAt: Type.Optional(Time),
};

/** A cluster as the admin API shows it. What is not known yet is left out. */
export const ClusterAnswer = answerOf('ClusterAnswer', properties);
export type ClusterView = Static<typeof ClusterAnswer>;

export const ClusterPageAnswer = pageOf(ClusterAnswer);
export const ChangedClusterAnswer = answerOf('ChangedClusterAnswer', { ...properties, warnings: Warnings });

export const RegistrationTokenAnswer = answerOf('RegistrationTokenAnswer', {
  registrationToken: Type.String({ description: 'shown once' }),
  registrationTokenExpiresAt: Time,
});
export const CreatedClusterAnswer = answerOf('CreatedClusterAnswer', {
  cluster: ClusterAnswer,
  ...RegistrationTokenAnswer.properties,
  warnings: Warnings,
});
