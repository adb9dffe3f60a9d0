import type { KubeObject } from './kube-object.ts';
import type { FluxStatus } from './flux-meta.ts';

export const HELM_RELEASE = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' } as const;

/** The part of Flux' HelmRelease v2 spec that is written here. */
export interface HelmReleaseSpec {
  interval: string;
  /** A chart out of an OCIRepository. Exactly one of `chartRef` and `chart`. */
  chartRef?: { kind: 'OCIRepository' | 'HelmChart' | 'ExternalArtifact'; name: string; namespace?: string };
  /** A chart out of a HelmRepository. */
  chart?: {
    spec: {
      chart: string;
      version?: string;
      interval?: string;
      sourceRef: {
        apiVersion?: string;
        kind: 'HelmRepository' | 'GitRepository' | 'Bucket';
        name: string;
        namespace?: string;
      };
    };
  };
  releaseName?: string;
  targetNamespace?: string;
  storageNamespace?: string;
  serviceAccountName?: string;
  dependsOn?: { name: string; namespace?: string }[];
  driftDetection?: {
    mode?: 'enabled' | 'warn' | 'disabled';
    /** The parts of a target but the selectors are regular expressions (RE2), matched as a whole. */
    ignore?: {
      paths: string[];
      target?: {
        group?: string;
        version?: string;
        kind?: string;
        name?: string;
        namespace?: string;
        labelSelector?: string;
        annotationSelector?: string;
      };
    }[];
  };
  install?: { remediation?: { retries?: number; remediateLastFailure?: boolean }; timeout?: string };
  upgrade?: {
    remediation?: { retries?: number; remediateLastFailure?: boolean; strategy?: 'rollback' | 'uninstall' };
    timeout?: string;
  };
  suspend?: boolean;
  timeout?: string;
  maxHistory?: number;
  values?: Record<string, unknown>;
  valuesFrom?: {
    kind: 'ConfigMap' | 'Secret';
    name: string;
    valuesKey?: string;
    targetPath?: string;
    optional?: boolean;
  }[];
}

/** One entry of `status.history`, newest first. */
export interface HelmReleaseSnapshot {
  name: string;
  namespace: string;
  /** Helm revision. */
  version: number;
  /** Helm's release status: `deployed`, `superseded`, `failed`, `uninstalled`, … */
  status: string;
  chartName: string;
  chartVersion: string;
  appVersion?: string;
  digest: string;
  configDigest: string;
  firstDeployed: string;
  lastDeployed: string;
  deleted?: string;
}

/** Flux' conditions on it: Ready, Reconciling, Stalled, Released, TestSuccess, Remediated. */
export interface HelmReleaseStatus extends FluxStatus {
  history?: HelmReleaseSnapshot[];
  lastAttemptedGeneration?: number;
  lastAttemptedRevision?: string;
  lastAttemptedReleaseAction?: 'install' | 'upgrade';
  failures?: number;
  installFailures?: number;
  upgradeFailures?: number;
  helmChart?: string;
  storageNamespace?: string;
}

export interface HelmRelease extends KubeObject {
  spec: HelmReleaseSpec;
  status?: HelmReleaseStatus;
}

/** Reasons that helm-controller sets on Ready and Released. */
export const FluxReleaseReason = {
  InstallSucceeded: 'InstallSucceeded',
  InstallFailed: 'InstallFailed',
  UpgradeSucceeded: 'UpgradeSucceeded',
  UpgradeFailed: 'UpgradeFailed',
  RollbackSucceeded: 'RollbackSucceeded',
  RollbackFailed: 'RollbackFailed',
  UninstallSucceeded: 'UninstallSucceeded',
  UninstallFailed: 'UninstallFailed',
  TestSucceeded: 'TestSucceeded',
  TestFailed: 'TestFailed',
  ArtifactFailed: 'ArtifactFailed',
  DependencyNotReady: 'DependencyNotReady',
  Progressing: 'Progressing',
} as const;
