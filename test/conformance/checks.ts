import type { Check } from './check.ts';
import { CONFIG_CHECKS } from './checks/config.ts';
import { CREDENTIALS } from './checks/credentials.ts';
import { CURRENT_STATUS } from './checks/current-status.ts';
import { ERRORS } from './checks/errors.ts';
import { EVENT_CHECKS } from './checks/events.ts';
import { HEADERS } from './checks/headers.ts';
import { HELD_POLLS } from './checks/held-polls.ts';
import { HMAC } from './checks/hmac.ts';
import { JOB_REPORTS } from './checks/job-reports.ts';
import { JOBS } from './checks/jobs.ts';
import { LIMITS } from './checks/limits.ts';
import { MEDIA_TYPES } from './checks/media-types.ts';
import { PAYLOAD_SECURITY } from './checks/payload-security.ts';
import { RATE_LIMITS } from './checks/rate-limits.ts';
import { REGISTER } from './checks/register.ts';
import { VERSIONING } from './checks/versioning.ts';

/** In the order in which they are made; the rate limit comes last, since it uses up what the others would need. */
export const CHECKS: readonly Check[] = [
  ...REGISTER,
  ...HEADERS,
  ...MEDIA_TYPES,
  ...HMAC,
  ...CONFIG_CHECKS,
  ...JOBS,
  ...HELD_POLLS,
  ...JOB_REPORTS,
  ...PAYLOAD_SECURITY,
  ...EVENT_CHECKS,
  ...CURRENT_STATUS,
  ...ERRORS,
  ...LIMITS,
  ...VERSIONING,
  ...CREDENTIALS,
  ...RATE_LIMITS,
];
