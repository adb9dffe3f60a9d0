import type { RewrittenHistory } from '../../delivery/gitops/write/branch-writer.ts';
import type { FileFate, WrittenFile } from '../../delivery/gitops/write/inspect-branch.ts';
import { manifestPathFor, TOMBSTONE_RETENTION_MS, tombstonePath } from '../../delivery/gitops/layout.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { gitSettingsOf } from './git-settings.ts';
import { appendAudit } from '../store/audit.ts';
import type { AuditKind } from '../store/audit-kinds.ts';
import type { ClusterDirectory } from '../store/clusters.ts';
import type { Store } from '../store/open-store.ts';
import { deliverAgain, writtenIntents, type WrittenIntent } from '../store/written-files.ts';
import { DELIVERY_TOPIC } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';

/** The part of a gitops transport that tells what became of files. */
export interface Inspector {
  inspect(
    files: readonly WrittenFile[],
    signal: AbortSignal,
  ): Promise<{ readonly fates: readonly FileFate[]; readonly tip: string | undefined }>;
  takeRewritten(): RewrittenHistory | undefined;
}

export interface OutsideChangesDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Changed {
  readonly intent: WrittenIntent;
  readonly path: string;
  readonly fate: Exclude<FileFate, 'kept'>;
}

/** Clusters whose files are looked at together. */
const CHUNK = 500;
const SHOWN = 5;

/**
 * What to do about files that others changed past the control plane. What went with a rewritten history is delivered
 * again, always: it was accepted, and nobody has edited it. A file that somebody edited or deleted is written again or
 * only reported, as the cluster's `git.outsideEdits` says. Both are audited.
 */
export class OutsideChanges {
  readonly #deps: OutsideChangesDeps;
  /** Repositories that were looked at in whole since this process started: nobody knows what happened before. */
  readonly #seen = new Set<string>();

  constructor(deps: OutsideChangesDeps) {
    this.#deps = deps;
  }

  /**
   * @param changed clusters whose directory is not what was last known
   * @returns ids of the clusters for which something is delivered again
   */
  async look(
    repositoryId: string,
    { all, changed }: { readonly all: readonly ClusterDirectory[]; readonly changed: readonly ClusterDirectory[] },
    inspector: Inspector,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const rewritten = inspector.takeRewritten();
    const clusters = rewritten === undefined && this.#seen.has(repositoryId) ? changed : all;
    const edited = new Set(changed.map(({ id }) => id));
    const again = new Set<string>();
    let lost = 0;
    for (let at = 0; at < clusters.length; at += CHUNK) {
      const chunk = clusters.slice(at, at + CHUNK);
      const found = (await this.#changesIn(chunk, inspector, signal)).filter(
        // An edit is told once: when the directory changed.
        ({ fate, intent }) => fate === 'lost' || edited.has(intent.cluster_id),
      );
      lost += found.filter(({ fate }) => fate === 'lost').length;
      for (const [clusterId, changes] of Map.groupBy(found, ({ intent }) => intent.cluster_id)) {
        if (await this.#settle(clusterId, changes)) again.add(clusterId);
      }
    }
    this.#seen.add(repositoryId);
    if (rewritten !== undefined) await this.#noteRewritten(repositoryId, rewritten, lost);
    if (again.size > 0) this.#deps.wakeups.wake(DELIVERY_TOPIC);
    return again;
  }

  async #changesIn(
    clusters: readonly ClusterDirectory[],
    inspector: Inspector,
    signal: AbortSignal,
  ): Promise<readonly Changed[]> {
    const { store, clock } = this.#deps;
    const directories = new Map(clusters.map(({ id, directory }) => [id, directory]));
    const since = new Date(clock.now().getTime() - TOMBSTONE_RETENTION_MS).toISOString();
    const intents = await writtenIntents(store.db, [...directories.keys()], since);
    const files = intents.map((intent) => ({
      commit: intent.commit,
      path: `${directories.get(intent.cluster_id) ?? ''}/${pathOf(intent)}`,
    }));
    if (files.length === 0) return [];
    const { fates } = await inspector.inspect(files, signal);
    return intents.flatMap((intent, index) => {
      const fate = fates[index] ?? 'kept';
      return fate === 'kept' ? [] : [{ intent, path: files[index]?.path ?? '', fate }];
    });
  }

  /** Of one cluster. Answers whether something is delivered again. */
  async #settle(clusterId: string, changes: readonly Changed[]): Promise<boolean> {
    const { store, clock, logger } = this.#deps;
    const at = clock.now().toISOString();
    return await store.write(async (trx) => {
      const cluster = await trx
        .selectFrom('clusters')
        .select(['organization_id', 'git_settings'])
        .where('id', '=', clusterId)
        .executeTakeFirst();
      if (cluster === undefined) return false;
      const restores = gitSettingsOf(cluster).outsideEdits === 'restore';
      const [lost, edited] = [changes.filter(isLost), changes.filter((change) => !isLost(change))];
      const wanted = [...lost, ...(restores ? edited : [])].map(({ intent }) => intent);
      const again = new Set((await deliverAgain(trx, wanted)).map(({ id }) => id));
      const note = async (kind: AuditKind, what: string, some: readonly Changed[], becomes: string): Promise<void> => {
        if (some.length === 0) return;
        const summary = `${what}: ${listed(some)}; ${becomes}, as the control plane sees it`;
        await appendAudit(trx, {
          organizationId: cluster.organization_id,
          clusterId,
          at,
          source: 'agent',
          kind,
          summary,
        });
        logger.warn({ clusterId, kind, files: some.length }, summary);
      };
      const delivered = lost.filter(({ intent }) => again.has(intent.id));
      await note('GitHistoryRewritten', 'commits went with a rewritten history', delivered, 'delivered again');
      const shown = restores ? edited.filter(({ intent }) => again.has(intent.id)) : edited;
      await note(
        'OutsideEdit',
        'somebody else changed files in Git',
        shown,
        restores ? 'delivered again' : 'left as is',
      );
      return again.size > 0;
    });
  }

  async #noteRewritten(repositoryId: string, { before, after }: RewrittenHistory, lost: number): Promise<void> {
    const { store, clock } = this.#deps;
    await store.write(async (trx) => {
      const repository = await trx
        .selectFrom('repositories')
        .select(['organization_id', 'name', 'branch'])
        .where('id', '=', repositoryId)
        .executeTakeFirst();
      if (repository === undefined) return;
      await appendAudit(trx, {
        organizationId: repository.organization_id,
        at: clock.now().toISOString(),
        source: 'agent',
        kind: 'GitHistoryRewritten',
        summary: `the branch ${repository.branch} of ${repository.name} was rewritten: it was at ${before} and is at ${after} now; ${lost} intents went with it, as the control plane sees it`,
      });
    });
  }
}

function pathOf(intent: WrittenIntent): string {
  return intent.action === 'uninstall'
    ? tombstonePath(intent)
    : manifestPathFor({ kind: intent.target_kind, namespace: intent.namespace, name: intent.name });
}

function isLost({ fate }: Changed): boolean {
  return fate === 'lost';
}

function listed(changes: readonly Changed[]): string {
  const shown = changes.slice(0, SHOWN).map(({ path, fate }) => (fate === 'lost' ? path : `${path} ${fate}`));
  return changes.length > SHOWN ? `${shown.join(', ')} and ${changes.length - SHOWN} more` : shown.join(', ');
}
