/** What a test may ask of a real cluster before it starts. */
export interface RealClusterOptions {
  /** With kube-controller-manager: garbage collection, namespace deletion, service accounts. Default false. */
  readonly controllerManager?: boolean;
  /** An `audit.k8s.io/v1` Policy; with one, `auditLogPath` is written, one JSON event a line. */
  readonly auditPolicy?: object;
  /** Further flags of kube-apiserver. */
  readonly apiServerFlags?: readonly string[];
}

/** A kube-apiserver with its etcd, on loopback, for one test file. */
export interface RealCluster extends AsyncDisposable {
  /** The admin's, a file of mode 0600. */
  readonly kubeconfigPath: string;
  /** What is in that file. */
  readonly kubeconfig: string;
  readonly url: string;
  readonly caPem: string;
  /** `gitVersion` as the server gives it. */
  readonly version: string;
  readonly adminToken: string;
  readonly auditLogPath?: string;
  /** etcd's client address over plain HTTP, where the cluster lets one see it. */
  readonly etcdUrl?: string;
  /** Writes a kubeconfig for a bearer token (a service account's: `serviceAccountToken`) and answers its path. */
  kubeconfigFor(token: string): Promise<string>;
  /** A token by the TokenRequest API; the account must be there. */
  serviceAccountToken(namespace: string, name: string): Promise<string>;
  /** Ends the API server as a restart of a control plane does; etcd keeps its state. */
  stopApiServer(): Promise<void>;
  /** Starts it again at the same address; resolves when it is ready. */
  startApiServer(): Promise<void>;
  /** The API server stands still (SIGSTOP): connections stay open and nothing is answered. */
  pauseApiServer(): Promise<void>;
  resumeApiServer(): Promise<void>;
}
