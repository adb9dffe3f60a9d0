import type { KubeError } from './cluster-api.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { FIELD_MANAGER, PUSH_FIELD_MANAGER } from '../resources/labels.ts';

/** What one of them has applied is the other's to take over, and never a person's to take away. */
const PAYLOAD_MANAGERS: readonly string[] = [FIELD_MANAGER, PUSH_FIELD_MANAGER];

/** The manager that a conflict's cause names. */
export function managerIn(message: string | undefined): string | undefined {
  return /conflict with "([^"]+)"/.exec(message ?? '')?.[1];
}

/**
 * The command by which the managers of a conflict give up what they own. It takes their entries out of `managedFields`:
 * removing the field itself is refused where it is required, and whoever sets it to the delivered value still owns it, so
 * that the next change of it would be a conflict again. The `test` keeps the patch off an entry that has moved since.
 * Undefined when none of them is found.
 *
 * @param self the manager whose apply was refused
 */
export function giveUpCommand(live: KubeObject | undefined, error: KubeError, self: string): string | undefined {
  const owners = new Set(error.causes.map(({ message }) => managerIn(message)));
  const entries = (live?.metadata.managedFields ?? []).map((entry, index) => ({ ...entry, index }));
  const found = entries.filter(
    ({ manager, operation, subresource }) =>
      owners.has(manager) &&
      manager !== undefined &&
      subresource === undefined &&
      (operation !== 'Apply' || (manager !== self && !PAYLOAD_MANAGERS.includes(manager))),
  );
  if (live === undefined || found.length === 0) return undefined;
  // From the last on: what is removed moves only what follows it.
  const patch = found.toReversed().flatMap(({ manager, index }) => [
    { op: 'test', path: `/metadata/managedFields/${index}/manager`, value: manager },
    { op: 'remove', path: `/metadata/managedFields/${index}` },
  ]);
  const { name, namespace } = live.metadata;
  const at = namespace === undefined ? '' : `-n ${namespace} `;
  const group = live.apiVersion.includes('/') ? `.${live.apiVersion.replace(/\/.*$/, '')}` : '';
  const quoted = JSON.stringify(patch).replaceAll("'", String.raw`'\''`);
  return `kubectl ${at}patch ${live.kind.toLowerCase()}${group} ${name} --type=json -p '${quoted}'`;
}
