import type { AcceptedPush, DirectoryChange, ProjectionTarget } from '../projection/projection-target.ts';
import { isOfDirectory } from './check-push.ts';

const ABSENT = '0'.repeat(40);

/**
 * What an accepted push did to each cluster's directory, from the list that it was checked by. Each commit is about the
 * directory of its one `Cluster-Id`.
 */
export function directoryChanges(
  log: string,
  projections: ReadonlyMap<string, ProjectionTarget>,
): AcceptedPush['changes'] {
  const changes = new Map<ProjectionTarget, DirectoryChange[]>();
  let commit = '';
  let target: ProjectionTarget | undefined;
  for (const line of log.split('\n')) {
    if (line.startsWith('commit ')) {
      [, commit = ''] = line.split(' ');
      target = undefined;
    } else if (line.startsWith('cluster ')) {
      target = projections.get(line.slice('cluster '.length).trim());
    } else if (target !== undefined && isOfDirectory(line)) {
      const tab = line.indexOf('\t');
      if (line.slice(tab + 1) !== target.directory) continue;
      const [, , before = '', after = ''] = line.slice(0, tab).split(' ');
      const known = changes.get(target) ?? [];
      // The list has the newest first.
      known.unshift({ commit, before: present(before), after: present(after) });
      changes.set(target, known);
    }
  }
  return [...changes].map(([of, list]) => ({ target: of, changes: list }));
}

function present(id: string): string | undefined {
  return id === ABSENT ? undefined : id;
}
