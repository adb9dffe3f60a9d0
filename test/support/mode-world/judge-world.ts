import type { ConnectivityMode } from '../../../src/protocol/connectivity-mode.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { FIELD_MANAGER, INTENT_ID_ANNOTATION, PUSH_FIELD_MANAGER } from '../../../src/resources/labels.ts';
import type { Fleet } from './fleet.ts';
import { madeObjects, type MadeObject } from './made-objects.ts';
import type { ModeWorld } from './mode-world.ts';
import { secondWriters, WRITERS, type Writer } from './payload-writes.ts';

/** What a world has broken for good of what was promised, in words; empty where all is well. */
export function brokenPromises(world: ModeWorld, fleet: Fleet): string[] {
  return [...secondWriters(world.writes), ...otherIdentities(world), ...unwantedDeletes(world, fleet)];
}

/**
 * What is not yet as it was promised to become, in words; empty where all is well. A switch that went back ends with the
 * receipts of the old way, so the operator may still have to carry them out.
 */
export async function unkeptPromises(world: ModeWorld, fleet: Fleet, mode: ConnectivityMode): Promise<string[]> {
  const objects = await world.objects();
  return [
    ...unexpectedObjects(objects, fleet),
    ...unexpectedParts(await madeObjects(world), fleet),
    ...otherOwners(objects, mode === 'push' ? PUSH_FIELD_MANAGER : FIELD_MANAGER),
    ...lostIntents(objects, fleet),
  ];
}

function unexpectedObjects(objects: readonly KubeObject[], fleet: Fleet): string[] {
  const names = new Set(objects.map(({ metadata }) => metadata.name));
  const missing = [...fleet.wanted].filter((name) => !names.has(name)).map((name) => `${name} is not there`);
  const extra = [...names].filter((name) => !fleet.wanted.has(name)).map((name) => `${name} is there`);
  return [...missing, ...extra];
}

/** Of what is gone nothing may be left; what is there has its release. */
function unexpectedParts(made: readonly MadeObject[], fleet: Fleet): string[] {
  const released = new Set(made.filter(({ kind }) => kind === 'HelmRelease').map(({ app }) => app));
  const missing = [...fleet.wanted].filter((name) => !released.has(name)).map((name) => `${name} has no release`);
  const left = made.filter(({ app }) => !fleet.wanted.has(app)).map(({ kind, app }) => `${kind} of ${app} is left`);
  return [...missing, ...left];
}

/** Nothing is installed twice under a name here, so each has one UID for good. */
function otherIdentities({ writes }: ModeWorld): string[] {
  const uids = Map.groupBy(
    writes.filter(({ uid }) => uid !== undefined),
    ({ object }) => object,
  );
  return [...uids].flatMap(([object, of]) => {
    const different = new Set(of.map(({ uid }) => uid));
    return different.size === 1 ? [] : [`${object} had ${different.size} UIDs: ${[...different].join(', ')}`];
  });
}

function unwantedDeletes({ writes }: ModeWorld, fleet: Fleet): string[] {
  return writes.flatMap(({ what, object, writer }) => {
    const name = object.slice(object.indexOf('/') + 1);
    return what === 'delete' && !fleet.uninstalled.has(name) ? [`${object} was deleted by ${writer}`] : [];
  });
}

/** Managers of a payload in `managedFields`, each once for each entry. */
export function payloadManagers({ metadata }: KubeObject): readonly Writer[] {
  return (metadata.managedFields ?? []).flatMap(({ manager, operation, subresource }) => {
    const writer = WRITERS.find((one) => one === manager);
    return writer !== undefined && operation === 'Apply' && (subresource ?? '') === '' ? [writer] : [];
  });
}

function otherOwners(objects: readonly KubeObject[], owner: Writer): string[] {
  return objects.flatMap((object) => {
    const managers = payloadManagers(object);
    const isRight = managers.length === 1 && managers[0] === owner;
    return isRight ? [] : [`${object.metadata.name} belongs to ${managers.join(' and ')}, not to ${owner}`];
  });
}

function lostIntents(objects: readonly KubeObject[], fleet: Fleet): string[] {
  const faults: string[] = [];
  const newest = new Map<string, string>();
  for (const { id, name, action } of fleet.intents) {
    const { state, reason } = fleet.outcomeOf(id) ?? { state: 'unknown', reason: '' };
    const isOver = action === 'uninstall' ? state === 'removed' : state === 'ready' || state === 'superseded';
    const isConflict = state === 'failed' && fleet.edited.has(name) && reason.includes('ApplyConflict');
    if (!isOver && !isConflict) faults.push(`${action} of ${name} ended ${state} ${reason}`);
    if (state === 'ready') newest.set(name, id);
  }
  for (const { metadata } of objects) {
    const brought = metadata.annotations?.[INTENT_ID_ANNOTATION];
    const expected = newest.get(metadata.name);
    if (brought !== expected && !fleet.edited.has(metadata.name)) {
      faults.push(`${metadata.name} is as ${brought} wants it, not as ${expected}`);
    }
  }
  return faults;
}
