import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { compileParser, compileQueryParser } from '../../protocol/parse.ts';

/**
 * The one place where a route's schema meets a request. A body is taken as it is; query and path values are text and are
 * read by the schema's types. A refusal is an AppError that names every fault's path.
 */
export const validatorCompiler: FastifySchemaCompiler<unknown> = ({ schema, httpPart }) => {
  const parse = httpPart === 'body' ? compileParser(schema as TSchema) : compileQueryParser(schema as TSchema);
  return (data: unknown) => {
    try {
      return { value: parse(data) };
    } catch (error) {
      return { error: error as Error };
    }
  };
};
