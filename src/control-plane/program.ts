import type { ProgramDescription } from '../runtime/program-arguments.ts';
import { ConfigVariables } from './config-variables.ts';

export const CONTROL_PLANE_PROGRAM: ProgramDescription = {
  name: 'service-control-plane',
  summary: 'Takes intents, delivers them to clusters, and says what became of them.',
  variables: Object.keys(ConfigVariables.properties),
};
