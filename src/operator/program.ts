import type { ProgramDescription } from '../runtime/program-arguments.ts';
import { VARIABLE_NAMES } from './config.ts';

export const OPERATOR_PROGRAM: ProgramDescription = {
  name: 'service-operator',
  summary: 'Brings about in its cluster what the control plane delivers, and reports what became of it.',
  commands: ['register --help    give a registration token to the operator that runs in this cluster'],
  variables: VARIABLE_NAMES,
};
