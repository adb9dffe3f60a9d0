import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { Type, type Static } from 'typebox';
import { canonicalJson } from '../../protocol/canonical-json.ts';
import { SemverVersion } from '../../protocol/names.ts';
import { compileParser } from '../../protocol/parse.ts';
import type { ApplicationInstance } from '../../resources/application-instance.ts';
import type { HelmRelease } from '../../resources/flux-helm-release.ts';
import { ROLLBACK_ANNOTATION } from '../../resources/labels.ts';
import type { Secret } from '../../runtime/secret.ts';
import { pairOf } from '../source-pair.ts';

/** Annotations of one object hold 256 KiB together. */
export const MAX_PIN_BYTES = 131_072;

const RollbackPin = Type.Object(
  {
    /** The intent that the instance had (`fromOf`); with another one the pin is over. */
    from: Type.String({ maxLength: 64 }),
    operation: Type.Object({
      name: Type.String({ maxLength: 253 }),
      uid: Type.String({ maxLength: 64 }),
      /** When it began: of two, the later one counts. */
      at: Type.String({ maxLength: 64 }),
    }),
    chartVersion: SemverVersion,
    /** Absent: those of the instance. */
    values: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    mac: Type.String({ maxLength: 64 }),
  },
  { additionalProperties: false },
);
export type RollbackPin = Static<typeof RollbackPin>;

const parsePin = compileParser(RollbackPin);

export type PinReading =
  | { readonly state: 'none' }
  /** Of an intent before the present one: nothing comes of it. */
  | { readonly state: 'over'; readonly pin: RollbackPin }
  /** The keys are not read yet: nobody can say whether it counts. */
  | { readonly state: 'waiting' }
  /** Not written by this operator: nothing comes of it. */
  | { readonly state: 'forged' }
  | { readonly state: 'holds'; readonly pin: RollbackPin };

/**
 * What an instance was taken back to. No signature of the control plane is over annotations, so the operator makes its own
 * over what it pins, with a key that comes of the cluster's private one: nobody in the cluster can run other values by it.
 */
export function readPin(
  instance: ApplicationInstance,
  clusterId: string,
  ring: readonly Secret[] | undefined,
): PinReading {
  const text = instance.metadata.annotations?.[ROLLBACK_ANNOTATION];
  if (text === undefined) return { state: 'none' };
  const pin = parsed(text);
  if (pin === undefined) return { state: 'forged' };
  if (pin.from !== fromOf(instance)) return { state: 'over', pin };
  if (ring === undefined) return { state: 'waiting' };
  return ring.some((key) => isMadeWith(pin, instance, clusterId, key)) ? { state: 'holds', pin } : { state: 'forged' };
}

function isMadeWith(pin: RollbackPin, instance: ApplicationInstance, clusterId: string, key: Secret): boolean {
  const given = Buffer.from(pin.mac, 'base64url');
  try {
    const made = Buffer.from(macOf(pin, instance, clusterId, key), 'base64url');
    return made.length === given.length && timingSafeEqual(made, given);
  } catch {
    // Text that has no canonical form, which we do not write.
    return false;
  }
}

/** The text of the annotation. */
export function sealPin(
  pin: Omit<RollbackPin, 'mac'>,
  instance: ApplicationInstance,
  clusterId: string,
  key: Secret,
): string {
  return JSON.stringify({ ...pin, mac: macOf(pin, instance, clusterId, key) });
}

/**
 * The intent that an instance is of, by what stays the same when a mode switch delivers it once more under another epoch.
 * One that a person made has none; there each change of its spec counts as one.
 */
export function fromOf(instance: ApplicationInstance): string {
  const pair = pairOf(instance);
  return pair === undefined ? `spec ${instance.metadata.generation ?? 0}` : `intent ${pair.generation}`;
}

/** The instance as it is released. */
export function asPinned(
  instance: ApplicationInstance,
  { chartVersion, values }: Omit<RollbackPin, 'mac'>,
): ApplicationInstance {
  const { spec } = instance;
  const chart = { ...spec.chart, version: chartVersion };
  return { ...instance, spec: { ...spec, chart, ...(values === undefined ? {} : { values }) } };
}

/** The HelmRelease with the operation that it was taken back by, so that it is seen when that came into it. */
export function withPin(desired: HelmRelease, pin: RollbackPin | undefined): HelmRelease {
  if (pin === undefined) return desired;
  const annotations = { ...desired.metadata.annotations, [ROLLBACK_ANNOTATION]: pin.operation.uid };
  return { ...desired, metadata: { ...desired.metadata, annotations } };
}

function parsed(text: string): RollbackPin | undefined {
  if (text.length > MAX_PIN_BYTES) return undefined;
  try {
    return parsePin(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function macOf(
  pin: Omit<RollbackPin, 'mac'>,
  { metadata }: ApplicationInstance,
  clusterId: string,
  key: Secret,
): string {
  const { from, operation, chartVersion, values } = pin;
  const { uid, namespace, name } = metadata;
  const secret = Buffer.from(key.expose(), 'utf8');
  const derived = new Uint8Array(hkdfSync('sha256', secret, 'service-operator-rollback', clusterId, 32));
  const message = canonicalJson({
    instance: [uid ?? null, namespace ?? null, name],
    pin: { from, operation, chartVersion, ...(values === undefined ? {} : { values }) },
  });
  return createHmac('sha256', derived).update(message, 'utf8').digest('base64url');
}
