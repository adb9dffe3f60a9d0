import { Type, type Static } from 'typebox';
import { INSTANCE_OPTIONS } from '../resources/instance-options.ts';
import { OPERATION_OPTIONS } from '../resources/operation.ts';

export const INTENT_ACTIONS = ['install', 'update', 'uninstall', 'operate'] as const;
export type IntentAction = (typeof INTENT_ACTIONS)[number];

/**
 * An intent as it is stored in every mode and sent as the payload of a job of kind `intent` (decisions, "Intent record").
 * `generation` counts accepted intents per cluster, kind, namespace and name, and is never reused.
 */
export const IntentRecord = Type.Object({
  intentVersion: Type.Literal('v1alpha1'),
  id: Type.String({ minLength: 1, maxLength: 64 }),
  action: Type.Unsafe<IntentAction>({ type: 'string', enum: [...INTENT_ACTIONS] }),
  namespace: Type.String(),
  name: Type.String(),
  generation: Type.Integer({ minimum: 1 }),
  catalogEntry: Type.Optional(Type.String()),
  chartVersion: Type.Optional(Type.String()),
  values: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  sealedValues: Type.Optional(Type.String()),
  ...INSTANCE_OPTIONS,
  operationTemplate: Type.Optional(Type.String()),
  parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  /** `definitionHash` of an admin's template as it was when the operation was asked for. */
  templateHash: Type.Optional(Type.String()),
  ...OPERATION_OPTIONS,
  /** The operation of this name is to stop; all else is as it was asked for. */
  cancel: Type.Optional(Type.Literal(true)),
  requestedBy: Type.String(),
  requestedAt: Type.String(),
  reason: Type.Optional(Type.String()),
});
export type IntentRecord = Static<typeof IntentRecord>;
