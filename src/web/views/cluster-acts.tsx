import type { JSX } from 'preact';
import type { Cluster } from '../api/clusters.ts';

/** What an admin may do to a cluster as a whole. */
export interface ClusterAct {
  /** The last part of its address; `delete` is the method. */
  readonly verb: 'registration-token' | 'rotate' | 'revoke' | 'disable' | 'enable' | 'delete';
  readonly title: string;
  readonly action: string;
  readonly short: string;
  readonly isDangerous: boolean;
  readonly isOffered: (cluster: Cluster) => boolean;
  /** Why it cannot be done as the cluster stands. */
  readonly whyNot?: (cluster: Cluster) => string | undefined;
  /** What will happen, and what will not. */
  readonly explain: (cluster: Cluster) => JSX.Element;
  readonly done: (slug: string) => string;
}

const isDisabled = ({ disabledAt }: Cluster): boolean => disabledAt !== undefined;
const always = (): boolean => true;
const noCredential = ({ credential }: Cluster): string | undefined =>
  credential === undefined
    ? 'There is no credential that could be rotated: issue a registration token instead.'
    : undefined;

export const CLUSTER_ACTS: readonly ClusterAct[] = [
  {
    verb: 'registration-token',
    title: 'New registration token',
    action: 'Issue a token',
    short: 'For an operator that is to register, the first time or again.',
    isDangerous: false,
    isOffered: always,
    explain: () => (
      <p>
        The token is shown once. Whoever has it can register as this cluster until it ends or is used; a token that was
        issued before and not used is void. The present operator goes on until another one registers.
      </p>
    ),
    done: (slug) => `Issued a registration token for ${slug}`,
  },
  {
    verb: 'rotate',
    title: 'Rotate the credential',
    action: 'Rotate',
    short: 'The operator takes a new credential at its next call.',
    isDangerous: false,
    isOffered: always,
    whyNot: noCredential,
    explain: () => (
      <p>
        The operator is asked to take a new credential at its next call. The old one goes on for the grace period, so
        nothing is interrupted.
      </p>
    ),
    done: (slug) => `Asked ${slug} to rotate its credential`,
  },
  {
    verb: 'disable',
    title: 'Disable',
    action: 'Disable',
    short: 'The operator is refused and nothing is delivered until it is enabled again.',
    isDangerous: true,
    isOffered: (cluster) => !isDisabled(cluster),
    explain: ({ waitingFor }) => (
      <>
        <p>
          The operator is answered 403 from now on, and no intent is taken for the cluster.{' '}
          {waitingFor === undefined ? '' : `What waits (${waitingFor.count}) goes on waiting. `}
          It can be enabled again at any time.
        </p>
        <p>Applications that are installed go on running.</p>
      </>
    ),
    done: (slug) => `Disabled ${slug}`,
  },
  {
    verb: 'enable',
    title: 'Enable',
    action: 'Enable',
    short: 'Its operator is answered again, and what waits is delivered.',
    isDangerous: false,
    isOffered: isDisabled,
    explain: () => <p>Its operator is answered again, and what waits for the cluster is delivered.</p>,
    done: (slug) => `Enabled ${slug}`,
  },
  {
    verb: 'revoke',
    title: 'Revoke all credentials',
    action: 'Revoke',
    short: 'For a credential that somebody else may have.',
    isDangerous: true,
    isOffered: always,
    explain: ({ push }) => (
      <>
        <p>
          The operator’s credential, its credential for Git{push === undefined ? '' : ', the credential for push mode'}{' '}
          and every registration token are void at once. Nothing is delivered until the operator registers again with a
          new token.
        </p>
        <p>Applications that are installed go on running. This cannot be taken back.</p>
      </>
    ),
    done: (slug) => `Revoked all credentials of ${slug}`,
  },
  {
    verb: 'delete',
    title: 'Delete the record',
    action: 'Delete',
    short: 'The cluster is forgotten here. What runs on it is not touched.',
    isDangerous: true,
    isOffered: always,
    whyNot: (cluster) =>
      isDisabled(cluster) || cluster.status === 'Pending' ? undefined : 'It is in use: disable it first.',
    explain: () => (
      <>
        <p>
          Its record, its intents, its jobs and what it reported are deleted here. The audit stays. This cannot be taken
          back.
        </p>
        <p>Applications and the operator on the cluster are not touched: uninstall them there or before.</p>
      </>
    ),
    done: (slug) => `Deleted ${slug}`,
  },
];
