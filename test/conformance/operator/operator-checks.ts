import { EVENTS } from './checks/events.ts';
import { IDENTITY } from './checks/identity.ts';
import { JOBS } from './checks/jobs.ts';
import { PAYLOAD_SECURITY } from './checks/payload-security.ts';
import { RESILIENCE } from './checks/resilience.ts';
import { WIRE } from './checks/wire.ts';
import type { OperatorCheck } from './operator-check.ts';

/** In the order in which they are made; those of the wire look back at all requests before them. */
export const OPERATOR_CHECKS: readonly OperatorCheck[] = [
  ...JOBS,
  ...PAYLOAD_SECURITY,
  ...EVENTS,
  ...RESILIENCE,
  ...WIRE,
  ...IDENTITY,
];
