import { Type, type Static, type TProperties, type TSchema } from 'typebox';
import { ERROR_STATUS } from '../../../protocol/app-error.ts';
import { Condition, ResourceRef } from '../../../protocol/condition.ts';
import { SwitchProbe } from '../../push/switch-probe.ts';

/** A moment, as every answer gives it: RFC 3339 in UTC. */
export const Time = Type.String({ format: 'date-time' });

/** A list, which nobody changes who reads it. */
export const listOf = <T extends TSchema>(item: T) => Type.Unsafe<readonly Static<T>[]>(Type.Array(item));

export const oneOf = <const Name extends string>(names: readonly Name[]) =>
  Type.Unsafe<Name>({ type: 'string', enum: [...names] });

export const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** What is JSON, and of somebody else's making: values of a chart, a JSON schema. */
export const AnyObject = Type.Record(Type.String(), Type.Unknown());

/**
 * An object of an answer, under a name of its own in the document. It has these members and no others.
 *
 * @param title ends in `Answer`
 */
export const answerOf = <P extends TProperties>(title: string, properties: P) =>
  Type.Object(properties, { title, additionalProperties: false });

/** A page of a list (`answerPage`). */
export const pageOf = <T extends TSchema & { readonly title?: string }>(item: T) =>
  answerOf(String(item.title).replace(/Answer$/, 'PageAnswer'), {
    items: listOf(item),
    nextCursor: Type.Optional(Type.String({ description: 'where the next page begins; absent on the last one' })),
  });

export const ConditionAnswer = answerOf('ConditionAnswer', Condition.properties);
export const ResourceRefAnswer = answerOf('ResourceRefAnswer', ResourceRef.properties);

/** 204. */
export const NoAnswer = Type.Null({ description: 'Done; there is nothing to say.' });

export const Warnings = Type.Optional(listOf(Type.String()));

/**
 * `schema.response` of a route, by status: its successes; errors are added to all of them by the document. It says nothing
 * to the type of `reply.send`, since the test suite holds every answer against the document (test/support/openapi-traffic).
 */
export function answers(byStatus: Readonly<Record<number, TSchema | MediaAnswer>>): Record<number, unknown> {
  return { ...byStatus };
}

/** An answer that is not JSON. */
export interface MediaAnswer {
  readonly description: string;
  readonly content: Readonly<Record<string, { readonly schema: TSchema }>>;
}

const Named = Type.Object({ id: Type.String(), title: Type.String() }, { additionalProperties: false });

/** Every refusal and failure of both APIs (docs/spec; `ErrorBody`). */
export const ErrorAnswer = answerOf('ErrorAnswer', {
  error: oneOf(Object.keys(ERROR_STATUS) as (keyof typeof ERROR_STATUS)[]),
  message: Type.String({ description: 'where the fault is and what would be taken instead' }),
  requestId: Type.String({ description: 'under which the log has more' }),
  faults: Type.Optional(
    listOf(
      answerOf('FaultAnswer', {
        path: Type.String({ description: 'RFC 6901 pointer to what is wrong' }),
        message: Type.String(),
        allowed: Type.Optional(Type.Unknown({ description: 'what would be taken' })),
        reason: Type.Optional(Type.String({ description: 'of an intent: by which a cluster would refuse it too' })),
      }),
    ),
  ),
  serverTime: Type.Optional(Time),
  served: Type.Optional(listOf(Type.String({ description: 'media types that are answered in' }))),
  /** What stands in the way, by name. */
  clusters: Type.Optional(listOf(Type.String())),
  instances: Type.Optional(listOf(Type.String())),
  intents: Type.Optional(listOf(Type.String())),
  proposals: Type.Optional(listOf(Named)),
  probes: Type.Optional(listOf(SwitchProbe)),
  switchId: Type.Optional(Type.String()),
  intentId: Type.Optional(Type.String()),
  proposalId: Type.Optional(Type.String()),
  /** What it is now, where the request was about what it was. */
  specHash: Type.Optional(Type.String()),
  generation: Type.Optional(Type.Integer()),
  revision: Type.Optional(Type.Integer()),
  state: Type.Optional(Type.String()),
});
