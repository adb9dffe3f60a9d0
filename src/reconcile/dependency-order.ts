import type { DesiredItem } from '../delivery/delivery.ts';
import { APPLICATION_INSTANCE_KIND, type ApplicationInstance } from '../resources/application-instance.ts';
import { refOf, type KubeObject, type ObjectRef } from '../resources/kube-object.ts';
import { objectKey } from './inventory-record.ts';

export interface DependencyOrder {
  /** Items of one turn need nothing of a later one. */
  readonly turns: readonly (readonly DesiredItem[])[];
  /** By the key of an item: the circle that it is part of, in words. Such items are in no turn. */
  readonly circles: ReadonlyMap<string, string>;
}

/** What else stands in the cluster that an item may need: looked up where the set does not have it. */
export type LookUp = (ref: ObjectRef) => Promise<KubeObject | undefined>;

interface Node {
  readonly id: string;
  readonly name: string;
  /** Absent for what stands in the cluster only. */
  readonly item?: DesiredItem;
  readonly needs: readonly ObjectRef[];
}

/** Of what is not in the set; a chain that goes on beyond is no circle that this set could close. */
const MAX_LOOK_UPS = 200;

/**
 * In which turns a set is applied, so that what `dependsOn` names comes first. Instances that wait for each other in a
 * circle would wait for ever, so none of them is applied; what merely needs one of them is, and waits.
 */
export async function dependencyOrder(items: readonly DesiredItem[], lookUp: LookUp): Promise<DependencyOrder> {
  const nodes = await nodesOf(items, lookUp);
  const turnOf = new Map<string, number>();
  const turns: DesiredItem[][] = [];
  const circles = new Map<string, string>();
  // Components come dependencies first, so the turns of what one needs are known.
  for (const component of components(nodes)) {
    const needs = component.flatMap(({ needs: refs }) => refs.map(objectKey));
    const turn = Math.max(-1, ...needs.map((id) => turnOf.get(id) ?? -1)) + 1;
    for (const { id } of component) turnOf.set(id, turn);
    const isCircle = component.length > 1;
    for (const { item } of component) {
      if (item === undefined) continue;
      if (isCircle) circles.set(item.key, inWords(component));
      else (turns[turn] ??= []).push(item);
    }
  }
  return { turns: turns.filter((turn) => turn !== undefined), circles };
}

function inWords(component: readonly Node[]): string {
  const names = component.map(({ name }) => name).sort((a, b) => (a < b ? -1 : 1));
  return `dependsOn goes in a circle, and each would wait for the others for ever: ${names.join(', ')}; take one of these entries out`;
}

async function nodesOf(items: readonly DesiredItem[], lookUp: LookUp): Promise<ReadonlyMap<string, Node>> {
  const nodes = new Map<string, Node>();
  for (const item of items) {
    const node = nodeOf(item.object, item);
    nodes.set(node.id, node);
  }
  const missing = [...nodes.values()].flatMap(({ needs }) => needs);
  for (let looked = 0; missing.length > 0 && looked < MAX_LOOK_UPS;) {
    const ref = missing.pop();
    if (ref === undefined || nodes.has(objectKey(ref))) continue;
    looked += 1;
    const object = await lookUp(ref);
    const node = object === undefined ? { id: objectKey(ref), name: nameOf(ref), needs: [] } : nodeOf(object);
    nodes.set(node.id, node);
    missing.push(...node.needs);
  }
  return nodes;
}

function nodeOf(object: KubeObject, item?: DesiredItem): Node {
  const ref = refOf(object);
  const spec = object['spec'] as Partial<ApplicationInstance['spec']> | undefined;
  const others = object.kind === APPLICATION_INSTANCE_KIND ? (spec?.dependsOn ?? []) : [];
  const needs = others.map(({ name, namespace }) => ({
    apiVersion: object.apiVersion,
    kind: object.kind,
    name,
    ...((namespace ?? ref.namespace) === undefined ? {} : { namespace: namespace ?? ref.namespace }),
  })) as readonly ObjectRef[];
  return { id: objectKey(ref), name: nameOf(ref), needs, ...(item === undefined ? {} : { item }) };
}

function nameOf({ namespace, name }: ObjectRef): string {
  return `${namespace ?? ''}/${name}`;
}

/**
 * Strongly connected components, each after those it leads to (R. Tarjan, "Depth-first search and linear graph
 * algorithms", 1972), with a stack of its own: a chain may be longer than the engine's.
 */
function components(nodes: ReadonlyMap<string, Node>): readonly (readonly Node[])[] {
  const found: Node[][] = [];
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const open: Node[] = [];
  const isOpen = new Set<string>();
  for (const root of nodes.values()) {
    if (index.has(root.id)) continue;
    const path: { readonly node: Node; readonly rest: Iterator<ObjectRef> }[] = [];
    const enter = (node: Node): void => {
      index.set(node.id, index.size);
      low.set(node.id, index.size - 1);
      open.push(node);
      isOpen.add(node.id);
      path.push({ node, rest: node.needs.values() });
    };
    const lower = (id: string, to: number): void => void low.set(id, Math.min(low.get(id) ?? 0, to));
    enter(root);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const { node, rest } = top;
      const step = rest.next();
      if (step.done !== true) {
        const next = nodes.get(objectKey(step.value));
        if (next === undefined) continue;
        if (!index.has(next.id)) enter(next);
        else if (isOpen.has(next.id)) lower(node.id, index.get(next.id) ?? 0);
        continue;
      }
      path.pop();
      const above = path.at(-1);
      if (above !== undefined) lower(above.node.id, low.get(node.id) ?? 0);
      if (low.get(node.id) !== index.get(node.id)) continue;
      const component = open.splice(open.lastIndexOf(node));
      for (const { id } of component) isOpen.delete(id);
      found.push(component);
    }
  }
  return found;
}
