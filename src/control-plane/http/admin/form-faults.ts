import type { FastifyRequest } from 'fastify';
import { AppError, type Fault } from '../../../protocol/app-error.ts';

/**
 * What is wrong with the form of a body, of a route with `attachValidation`: so that what its members mean is judged as
 * well, and all of it told at once.
 *
 * @throws what is wrong with anything but the body
 */
export function formFaults({ validationError: error }: Pick<FastifyRequest, 'validationError'>): readonly Fault[] {
  if (error === undefined) return [];
  const faults = error.validationContext === 'body' && error instanceof AppError ? error.faults : undefined;
  if (faults === undefined) throw error;
  return faults;
}
