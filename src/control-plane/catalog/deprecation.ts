import { Type, type Static } from 'typebox';
import { EntryName } from '../../protocol/names.ts';

/** That a catalog entry should not be used any more. Nothing is refused for it. */
export const Deprecation = Type.Object(
  {
    message: Type.String({
      pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]{1,1000}$',
      description: 'one line of 1 to 1000 characters without control characters',
    }),
    /** The entry to use in its place. */
    replacement: Type.Optional(EntryName),
  },
  { additionalProperties: false },
);
export type Deprecation = Static<typeof Deprecation>;

/** What an accepted intent's answer, or a dry run's, says besides. */
export interface Warning {
  /** RFC 6901, in the request. */
  readonly path: string;
  readonly message: string;
}

export function deprecationWarnings(entry: string, deprecation: Deprecation | undefined): Warning[] {
  if (deprecation === undefined) return [];
  const { message, replacement } = deprecation;
  const instead = replacement === undefined ? '' : `; use ${replacement}`;
  return [{ path: '/catalogEntry', message: `the catalog entry ${entry} is deprecated: ${message}${instead}` }];
}
