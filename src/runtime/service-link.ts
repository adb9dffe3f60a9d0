const SERVICE_LINK = /^SERVICE_(?:.*_)?(?:SERVICE_HOST|SERVICE_PORT(?:_.+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_.+)?)?)$/;

/**
 * Whether Kubernetes injected the variable for a Service whose name begins with `service`
 * (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables): it is no setting of ours.
 */
export function isServiceLink(name: string): boolean {
  return SERVICE_LINK.test(name);
}
