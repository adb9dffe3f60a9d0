import { Type, type Static } from 'typebox';
import { isRealTime } from './real-time.ts';

/** RFC 3339 timestamp of a moment that there is: 30 February is refused. */
export const Timestamp = Type.Refine(
  Type.String({
    pattern: '^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})$',
    maxLength: 64,
    description: 'RFC 3339 timestamp',
  }),
  isRealTime,
  () => 'must be a date and time that there is',
);

/** A condition as it travels on the wire and stands in every custom resource's status (specification, "Condition"). */
export const Condition = Type.Object({
  type: Type.String({ minLength: 1, maxLength: 316, description: 'What is observed, in one word.' }),
  status: Type.Unsafe<'True' | 'False' | 'Unknown'>({
    type: 'string',
    enum: ['True', 'False', 'Unknown'],
    description: 'Whether it holds.',
  }),
  reason: Type.Optional(Type.String({ maxLength: 1024, description: 'Why, in one word for programs.' })),
  message: Type.Optional(Type.String({ maxLength: 32768, description: 'Why, for people.' })),
  lastTransitionTime: Type.Optional(Timestamp),
  observedGeneration: Type.Optional(
    Type.Integer({ minimum: 0, description: 'The metadata.generation that this was observed of.' }),
  ),
});
export type Condition = Static<typeof Condition>;

/** What an event or a result is about (specification, "Resource reference"). */
export const ResourceRef = Type.Object({
  apiVersion: Type.String({ minLength: 1, maxLength: 316 }),
  kind: Type.String({ minLength: 1, maxLength: 253 }),
  name: Type.String({ minLength: 1, maxLength: 253 }),
  namespace: Type.Optional(Type.String({ maxLength: 253 })),
  uid: Type.Optional(Type.String({ maxLength: 128 })),
  generation: Type.Optional(Type.Integer({ minimum: 0 })),
});
export type ResourceRef = Static<typeof ResourceRef>;
