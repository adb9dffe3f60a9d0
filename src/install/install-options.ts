import { DNS_LABEL_PATTERN, SLUG_PATTERN } from '../protocol/names.ts';

/** What an installation is made for. Whatever is absent stays as `templates/install/` has it. */
export interface OperatorOptions {
  /** Adds the Cluster resource. */
  readonly cluster?: { readonly slug: string; readonly baseUrl: string };
  /** Image of the operator, with its tag or digest. */
  readonly image?: string;
  readonly replicas?: number;
  /** Namespaces that get the RoleBinding; they must exist when the manifest is applied. */
  readonly namespaceGrants?: readonly string[];
  /** Version of the PodDisruptionBudget: `policy/v1` from Kubernetes 1.21 on. */
  readonly podDisruptionBudget?: PodDisruptionBudgetVersion;
  /** Lets the control plane upgrade the operator. */
  readonly allowUpgrade?: boolean;
  /** Where the API server listens behind its Service, when that is neither 443 nor 6443. */
  readonly apiServerPort?: number;
}

export const POD_DISRUPTION_BUDGET_VERSIONS = ['v1', 'v1beta1'] as const;
export type PodDisruptionBudgetVersion = (typeof POD_DISRUPTION_BUDGET_VERSIONS)[number];

/** An option that makes no manifest. The message names it as the command line does, and says what would be taken. */
export class InstallOptionError extends Error {
  readonly option: string;

  constructor(option: string, expected: string, found: unknown) {
    super(`${option}: ${expected}, not ${JSON.stringify(found)}`);
    this.name = 'InstallOptionError';
    this.option = option;
  }
}

const SLUG = new RegExp(SLUG_PATTERN);
const LABEL = new RegExp(DNS_LABEL_PATTERN);
/** Kubernetes keeps every name with `kube-` for itself, and in `service-system` are the operator's own credentials. */
const SYSTEM_NAMESPACE = /^(kube-.*|service-system)$/;
const BASE_URL = /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/;
const IMAGE = /^[a-zA-Z0-9][\w.:/@-]{0,511}$/;
const SERVICE_ACCOUNT = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** @throws InstallOptionError for the first option that cannot be used */
export function checkOperatorOptions(options: OperatorOptions): void {
  const { cluster, image, replicas, namespaceGrants = [], apiServerPort } = options;
  if (cluster !== undefined) {
    if (!SLUG.test(cluster.slug)) {
      throw new InstallOptionError('--cluster', "the cluster's slug (lower-case letters, digits, '-')", cluster.slug);
    }
    if (!BASE_URL.test(cluster.baseUrl) || !URL.canParse(cluster.baseUrl)) {
      const expected = 'an http:// or https:// address without user, query or fragment';
      throw new InstallOptionError('--base-url', expected, cluster.baseUrl);
    }
  }
  if (image !== undefined && !IMAGE.test(image)) {
    throw new InstallOptionError('--image', 'an image such as registry.example.com/service-operator:1.2.3', image);
  }
  if (replicas !== undefined && !(Number.isInteger(replicas) && replicas >= 0 && replicas <= 9)) {
    throw new InstallOptionError('--replicas', 'a whole number from 0 to 9', replicas);
  }
  if (apiServerPort !== undefined && !isPort(apiServerPort)) {
    throw new InstallOptionError('--api-server-port', 'a port from 1 to 65535', apiServerPort);
  }
  for (const namespace of namespaceGrants) checkNamespace('--namespace-grants', namespace);
}

/** @throws InstallOptionError */
export function checkNamespace(option: string, namespace: string): void {
  if (!LABEL.test(namespace) || namespace.length > 63) {
    throw new InstallOptionError(option, "a namespace (lower-case letters, digits, '-', at most 63)", namespace);
  }
  if (SYSTEM_NAMESPACE.test(namespace)) {
    const why = "a namespace for applications (kube-… is Kubernetes' own, service-system the operator's)";
    throw new InstallOptionError(option, why, namespace);
  }
}

/** @throws InstallOptionError */
export function checkServiceAccount(option: string, name: string): void {
  if (!SERVICE_ACCOUNT.test(name)) {
    throw new InstallOptionError(option, "a service account's name (lower-case letters, digits, '-', '.')", name);
  }
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}
