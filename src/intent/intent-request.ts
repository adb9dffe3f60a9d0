import { Type, type Static } from 'typebox';
import { EntryName, NamespaceName, ObjectName, SemverVersion } from '../protocol/names.ts';
import { compileParser } from '../protocol/parse.ts';
import { INSTANCE_OPTIONS } from '../resources/instance-options.ts';
import { OPERATION_OPTIONS } from '../resources/operation.ts';
import { INTENT_ACTIONS, type IntentAction } from './intent-record.ts';

/** Longest `reason`, in UTF-16 units. */
export const MAX_REASON = 1000;

/** Longest sealed text: 64 KiB of JSON, sealed. */
const MAX_SEALED = 128 * 1024;

// No control characters, line separators or text-direction overrides: a reason stands in commits and logs as one line.
export const REASON_PATTERN = `^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]{1,${MAX_REASON}}$`;

/** Body of `POST /clusters/{id}/intents` (decisions, "Admin API"). */
export const IntentRequest = Type.Object(
  {
    action: Type.Unsafe<IntentAction>({ type: 'string', enum: [...INTENT_ACTIONS] }),
    namespace: NamespaceName,
    name: ObjectName,
    catalogEntry: Type.Optional(EntryName),
    chartVersion: Type.Optional(SemverVersion),
    values: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'chart values, an object' })),
    secretValues: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          "secret chart values, an object; they are sealed to the cluster's key before anything is stored; {} takes those away that there were",
      }),
    ),
    sealedValues: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_SEALED,
        description: "secret values that were sealed to the cluster's key elsewhere, as compact JWE",
      }),
    ),
    recoveryValues: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_SEALED,
        description: "the same as sealedValues, sealed to the organization's recovery key",
      }),
    ),
    ...INSTANCE_OPTIONS,
    expectedGeneration: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'refused with conflict unless the newest intent about this object has this generation; 0: none has',
      }),
    ),
    dryRun: Type.Optional(
      Type.Boolean({ description: 'only tell everything that the intent would be refused for; nothing is stored' }),
    ),
    operationTemplate: Type.Optional(EntryName),
    parameters: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'parameters of the operation template, an object' }),
    ),
    ...OPERATION_OPTIONS,
    reason: Type.Optional(
      Type.String({
        pattern: REASON_PATTERN,
        description: `one paragraph of 1 to ${MAX_REASON} characters without line breaks or control characters`,
      }),
    ),
  },
  { additionalProperties: false },
);
export type IntentRequest = Static<typeof IntentRequest>;

/** @throws AppError `constraint_violated` with every fault of the body */
export const parseIntentRequest: (body: unknown) => IntentRequest = compileParser(IntentRequest);
