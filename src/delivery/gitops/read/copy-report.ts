import { Reason } from '../../../resources/reasons.ts';

/** What a copy turned out to hold, looked at object by object after it was made. */
export interface CopyReport {
  /** Of its packs. */
  readonly bytes: number;
  readonly objects: number;
  /** Contents of files, and how many of them lie outside the directory that is read. */
  readonly contents: number;
  readonly foreign: number;
  /** The host left out what was not asked for. */
  readonly filtered: boolean;
}

/** `SourcePartial` of the Cluster, without its time. */
export interface CopyCondition {
  readonly type: 'SourcePartial';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/**
 * A copy that is not partial works, and costs: so it is said, and reading goes on. How large a repository may be then, the
 * volume of the operator's state says.
 */
export function copyCondition(report: CopyReport): CopyCondition {
  const { bytes, objects, contents, foreign, filtered } = report;
  const size = `${objects} objects in ${Math.ceil(bytes / 1024)} KiB`;
  if (filtered && foreign === 0) {
    const message = `the copy holds the cluster's directory and no more: ${size}, ${contents} contents`;
    return { type: 'SourcePartial', status: 'True', reason: Reason.CopyPartial, message };
  }
  const why = filtered
    ? `${foreign} of ${contents} contents lie outside the cluster's directory`
    : 'the Git host does not filter (uploadpack.allowFilter), so it sends the whole tree';
  const message = `the copy is more than the cluster's directory: ${why}; ${size}. It is read all the same. Turn filters on at the Git host, or give the cluster a repository of its own`;
  return { type: 'SourcePartial', status: 'False', reason: Reason.CopyNotPartial, message };
}
