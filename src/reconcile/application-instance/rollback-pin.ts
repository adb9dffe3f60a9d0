import { Type, type Static } from 'typebox';
import { SemverVersion } from '../../protocol/names.ts';
import { compileParser } from '../../protocol/parse.ts';
import type { ApplicationInstance } from '../../resources/application-instance.ts';
import type { HelmRelease } from '../../resources/flux-helm-release.ts';
import { ROLLBACK_ANNOTATION } from '../../resources/labels.ts';
import type { Secret } from '../../runtime/secret.ts';
import { isSealed, sealOf } from '../own-seal.ts';
import { pairOf } from '../source-pair.ts';

/** Annotations of one object hold 256 KiB together. */
export const MAX_PIN_BYTES = 131_072;
const PURPOSE = 'service-operator-rollback';

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
  const isOurs = isSealed(pin.mac, PURPOSE, sealedOf(pin, instance), clusterId, ring);
  return isOurs ? { state: 'holds', pin } : { state: 'forged' };
}

/** The text of the annotation. */
export function sealPin(
  pin: Omit<RollbackPin, 'mac'>,
  instance: ApplicationInstance,
  clusterId: string,
  key: Secret,
): string {
  return JSON.stringify({ ...pin, mac: sealOf(PURPOSE, sealedOf(pin, instance), clusterId, key) });
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

function sealedOf(pin: Omit<RollbackPin, 'mac'>, { metadata }: ApplicationInstance): unknown {
  const { from, operation, chartVersion, values } = pin;
  const { uid, namespace, name } = metadata;
  return {
    instance: [uid ?? null, namespace ?? null, name],
    pin: { from, operation, chartVersion, ...(values === undefined ? {} : { values }) },
  };
}
