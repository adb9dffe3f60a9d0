import type { Static, TSchema } from 'typebox';
import { compileParser } from '../../../protocol/parse.ts';
import { ProposalHostFault } from './proposal-host.ts';

/** A reader of what a host answers: members that are not named are passed over, as hosts add some with every version. */
export function hostShape<T extends TSchema>(title: string, schema: T): (body: unknown) => Static<T> {
  const parse = compileParser(schema);
  return (body) => {
    try {
      return parse(body);
    } catch (error) {
      const why = error instanceof Error ? error.message : '';
      throw new ProposalHostFault('unavailable', `${title} answers in a form that is not known: ${why}`, {
        cause: error,
      });
    }
  };
}
