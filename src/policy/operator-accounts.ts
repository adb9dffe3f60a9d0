/** The account of the operator's Deployment, and the one that push mode writes with. */
export const OPERATOR_ACCOUNT = 'service-operator';
export const PUSH_ACCOUNT = 'service-control-plane';

/** Who may write what is reserved, by the names that the API server knows them by. */
export interface OperatorAccounts {
  /** The operator: its Deployment's account, and whatever it runs as when that is another. */
  readonly operator: readonly string[];
  readonly push: string;
  /**
   * Whether it is known what the operator runs as. Where it is not, its own writes cannot be told from anyone's, and what
   * rests on that is not checked.
   */
  readonly known: boolean;
}

export function serviceAccountName(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** @param identity what the operator runs as; undefined: unknown */
export function operatorAccounts(namespace: string, identity: string | undefined): OperatorAccounts {
  const own = serviceAccountName(namespace, OPERATOR_ACCOUNT);
  return {
    operator: identity === undefined || identity === own ? [own] : [own, identity],
    push: serviceAccountName(namespace, PUSH_ACCOUNT),
    known: identity !== undefined,
  };
}
