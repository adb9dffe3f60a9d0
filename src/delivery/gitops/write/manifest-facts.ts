import { parseDocument } from 'yaml';
import { MAX_MANIFEST_BYTES, type Rendered } from '../../../intent/rendered.ts';
import { INTENT_ID_ANNOTATION, SOURCE_ANNOTATION } from '../../../resources/labels.ts';

/** Order on the wire: an epoch, and within it a generation (decisions, "Jobs"). */
export interface SourceOrder {
  readonly epoch: number;
  readonly generation: number;
}

/** What the writer needs to know of a manifest or tombstone that stands in Git. Absent: it does not say, or is damaged. */
export interface ManifestFacts {
  readonly kind?: string;
  readonly order?: SourceOrder;
  readonly intentId?: string;
  readonly chartVersion?: string;
}

/**
 * Reads a manifest. A person may have made nonsense of it: then there are no facts, and it may be overwritten. Whatever
 * stands there, it is read in time that grows with its size: the control plane does nothing else meanwhile.
 */
export function readManifestFacts(text: string): ManifestFacts {
  // No operator takes such a file.
  if (Buffer.byteLength(text, 'utf8') > MAX_MANIFEST_BYTES) return {};
  const read = readMembers(text);
  if (read === undefined) return {};
  const source = read('metadata', 'annotations', SOURCE_ANNOTATION);
  return facts({
    kind: read('kind'),
    order: typeof source === 'string' ? parseOrder(source) : undefined,
    intentId: read('metadata', 'annotations', INTENT_ID_ANNOTATION),
    chartVersion: read('spec', 'chart', 'version'),
  });
}

function readMembers(text: string): ((...path: readonly string[]) => unknown) | undefined {
  try {
    // Looking for members that are there twice takes the square of their number. And the nodes are asked themselves:
    // a value made of them has a text for each member's name, which takes even longer for nested ones.
    const document = parseDocument(text, { uniqueKeys: false, logLevel: 'silent' });
    return document.errors.length > 0 ? undefined : (...path) => document.getIn(path);
  } catch {
    return undefined;
  }
}

/** Reads a tombstone. */
export function readTombstoneFacts(text: string): ManifestFacts & { readonly time?: Date } {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return {};
  }
  const [epoch, generation, time] = [at(document, 'epoch'), at(document, 'generation'), at(document, 'time')];
  const order = typeof epoch === 'number' && typeof generation === 'number' ? { epoch, generation } : undefined;
  const known = facts({
    kind: at(document, 'kind'),
    order,
    intentId: at(document, 'intentId'),
    chartVersion: undefined,
  });
  const date = typeof time === 'string' ? new Date(time) : undefined;
  return date === undefined || Number.isNaN(date.getTime()) ? known : { ...known, time: date };
}

/** Order of an intent about to be written. */
export function orderOf(rendered: Rendered): SourceOrder {
  return { epoch: rendered.target.deliveryEpoch, generation: rendered.intent.generation };
}

/** Whether `order` comes after `other`. An unknown order comes before everything. */
export function isNewer(order: SourceOrder | undefined, other: SourceOrder): boolean {
  if (order === undefined) return false;
  return order.epoch === other.epoch ? order.generation > other.generation : order.epoch > other.epoch;
}

/** Chart version that `rendered` asks for. */
export function chartVersionOf(rendered: Rendered): string | undefined {
  const version = rendered.kind === 'apply' ? at(rendered.object, 'spec', 'chart', 'version') : undefined;
  return typeof version === 'string' ? version : rendered.intent.chartVersion;
}

function parseOrder(text: string): SourceOrder | undefined {
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(text);
  return match === null ? undefined : { epoch: Number(match[1]), generation: Number(match[2]) };
}

function at(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Readonly<Record<string, unknown>>)[key];
  }
  return current;
}

function facts(read: {
  readonly kind: unknown;
  readonly order: SourceOrder | undefined;
  readonly intentId: unknown;
  readonly chartVersion: unknown;
}): ManifestFacts {
  return {
    ...(typeof read.kind === 'string' ? { kind: read.kind } : {}),
    ...(read.order === undefined ? {} : { order: read.order }),
    ...(typeof read.intentId === 'string' ? { intentId: read.intentId } : {}),
    ...(typeof read.chartVersion === 'string' ? { chartVersion: read.chartVersion } : {}),
  };
}
