/** API groups and versions (specification, "Versioning"). */
export const APPS_API_VERSION = 'apps.service.io/v1alpha1';
export const OPS_API_VERSION = 'ops.service.io/v1alpha1';

/** Labels on what the operator applies and makes (specification, "Pull-mode end-to-end flow", step 4). */
export const MANAGED_BY_LABEL = 'app.service.io/managed-by';
export const MANAGED_BY_VALUE = 'control-plane';
export const CLUSTER_ID_LABEL = 'app.service.io/cluster-id';
export const APPLICATION_INSTANCE_LABEL = 'app.service.io/application-instance';

/** On a namespace: the operator may write here. */
export const NAMESPACE_LABEL = 'managed-by';
export const NAMESPACE_LABEL_VALUE = 'service';

/** On every delivered object: `<delivery epoch>.<generation>`, the order on the wire. */
export const SOURCE_ANNOTATION = 'app.service.io/source';
/** On every delivered object: the intent that it was rendered from. */
export const INTENT_ID_ANNOTATION = 'app.service.io/intent-id';
/** On an object about to be deleted on purpose; its value is the tombstone's intent id. Without it a release stays. */
export const TOMBSTONE_ANNOTATION = 'app.service.io/tombstone';
/** Beside it, in push mode: the tombstone's own `<delivery epoch>.<generation>`. No signature is over it. */
export const TOMBSTONE_SOURCE_ANNOTATION = 'app.service.io/tombstone-source';
/** On a namespace: the service account that releases run as. */
export const SERVICE_ACCOUNT_ANNOTATION = 'ops.service.io/service-account';
export const DEFAULT_RELEASE_SERVICE_ACCOUNT = 'service-applications';
/** On a namespace: the operation templates that may run there, separated by commas; absent: the cluster's list. */
export const ALLOWED_OPERATIONS_ANNOTATION = 'ops.service.io/allowed-operations';
/** On a namespace: what runs or is installed there needs an approval (`"true"`). */
export const APPROVAL_REQUIRED_ANNOTATION = 'ops.service.io/approval-required';
/** On an ApplicationInstance: the approval of its spec (compact JWS); an Operation carries its own in its spec. */
export const APPROVAL_ANNOTATION = 'app.service.io/approval';
/** On a HelmRelease: hash of the instance's spec that it was made of (`approvedSpecHash`), and the operator's seal over that. */
export const RELEASED_SPEC_ANNOTATION = 'app.service.io/released-spec';
/** On an ApplicationInstance: the earlier version that an operation took it back to, until the next intent (JSON). */
export const ROLLBACK_ANNOTATION = 'app.service.io/rollback';
/** On what an operation made: the operator's seal over whose it is. */
export const MADE_BY_ANNOTATION = 'ops.service.io/made-by';
/** On what an operation made: the Operation's UID. */
export const OPERATION_UID_LABEL = 'ops.service.io/operation-uid';
/** On every delivered object: the control plane's signature over it (decisions, "Jobs"). */
export const SIGNATURE_ANNOTATION = 'app.service.io/signature';
/** On the Cluster: any new value makes a new encryption key of the cluster; those before it only decrypt from then on. */
export const ROTATE_KEYPAIR_ANNOTATION = 'ops.service.io/rotate-keypair';
/** On an object, a namespace or the Cluster: stops all writes there. */
export const PAUSED_ANNOTATION = 'ops.service.io/paused';

export const APPLICATION_INSTANCE_FINALIZER = 'app.service.io/release';

/** Field managers (decisions, "Names"). */
export const FIELD_MANAGER = 'service-operator';
export const META_FIELD_MANAGER = 'service-operator-meta';
export const STATUS_FIELD_MANAGER = 'service-operator-status';
/** Of the control plane in push mode: payloads, and all else that it changes on an object (the mark before a delete). */
export const PUSH_FIELD_MANAGER = 'service-control-plane';
export const PUSH_META_FIELD_MANAGER = 'service-control-plane-meta';

export const OPERATOR_NAMESPACE = 'service-system';
export const CREDENTIALS_SECRET = 'service-operator-credentials';
export const KEYPAIR_SECRET = 'service-operator-keypair';
/** Key `token`: the one-time registration token, put there by an admin and deleted once it is used. */
export const REGISTRATION_SECRET = 'service-operator-registration';
/** The operator's own Deployment, and the container in it. */
export const OPERATOR_DEPLOYMENT = 'service-operator';
export const OPERATOR_CONTAINER = 'operator';
/** Who holds it leads; named like the Deployment. */
export const OPERATOR_LEASE = 'service-operator';
export const INVENTORY_CONFIG_MAP = 'service-operator-inventory';
/** Which approvals were used, and by which object. */
export const APPROVALS_CONFIG_MAP = 'service-operator-approvals';
export const WEBHOOK_SECRET = 'service-operator-webhook';
