import { STATUS_CODES } from 'node:http';
import { ErrorAnswer, type MediaAnswer } from './answers.ts';
import type { ApiResponse } from './error-responses.ts';
import { addAll, nameSchemas } from './name-schemas.ts';

/** Responses of one operation, and the schemas that they refer to. */
export interface NamedResponses {
  readonly responses: Readonly<Record<string, ApiResponse>>;
  readonly components: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

/** @param answers `schema.response` of a route, as `answers()` makes it */
export function namedResponses(
  answers: Readonly<Record<string, unknown>>,
  errors: Readonly<Record<string, ApiResponse>>,
  mediaType: string,
): NamedResponses {
  const components = new Map(nameSchemas(ErrorAnswer).components);
  const responses = Object.entries(answers).map(([status, answer]): [string, ApiResponse] => {
    const { description = STATUS_CODES[status] ?? 'Done', type } = answer as { description?: string; type?: string };
    if (type === 'null') return [status, { description }];
    const content = isMedia(answer) ? answer.content : { [mediaType]: { schema: answer as object } };
    const named = Object.entries(content).map(([media, { schema }]): [string, { schema: object }] => {
      const found = nameSchemas(schema);
      addAll(components, found.components);
      return [media, { schema: found.schema as object }];
    });
    return [status, { description, content: Object.fromEntries(named) }];
  });
  return { responses: { ...Object.fromEntries(responses), ...errors }, components };
}

function isMedia(answer: unknown): answer is MediaAnswer {
  return typeof answer === 'object' && answer !== null && 'content' in answer;
}
