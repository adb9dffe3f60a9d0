interface ErrorDescription {
  /** HTTP status (decisions, "Errors"). */
  readonly status: number;
  /** What the request did, or what happened to it. */
  readonly cause: string;
  /** What whoever sent it does next. */
  readonly remedy: string;
}

/** Every `error` code that either API answers with. docs/reference/errors.md is made from it. */
export const ERROR_CODES = {
  invalid_body: {
    status: 400,
    cause: 'The request cannot be read: it is no JSON, or a member stands in it twice.',
    remedy: 'Send one JSON document; the message names the place.',
  },
  constraint_violated: {
    status: 400,
    cause: 'The request can be read, and something in it is not allowed: a value, a name, or what a cluster takes.',
    remedy: 'Change what `faults` lists; each has its path and, where there are few, the allowed values.',
  },
  missing_token: {
    status: 401,
    cause: 'There is no `Authorization: Bearer …`.',
    remedy: 'Send a token; `servicectl login` keeps one.',
  },
  invalid_token: {
    status: 401,
    cause: 'The token is none that the control plane knows: deleted, replaced, cut short or of another control plane.',
    remedy: 'Sign in again, or ask an administrator for another token.',
  },
  expired_token: {
    status: 401,
    cause: 'The token or credential is past its end.',
    remedy:
      'Sign in again or make another token; an operator recovers its credential or is given a registration token.',
  },
  invalid_signature: {
    status: 401,
    cause: 'The signature over the request, or over a webhook of a Git host, does not fit what was sent.',
    remedy: 'Look for a proxy that changes paths or bodies, and whether both sides have the same secret.',
  },
  clock_skew: {
    status: 401,
    cause: 'The time in the signature is too far from that of the control plane.',
    remedy: "Set the clock right; `serverTime` is the control plane's.",
  },
  registration_token_used: {
    status: 401,
    cause: 'The registration token was used before, and counts once.',
    remedy: 'Make another: `servicectl clusters registration-token CLUSTER`.',
  },
  registration_token_expired: {
    status: 401,
    cause: 'The registration token was not used in time.',
    remedy: 'Make another: `servicectl clusters registration-token CLUSTER`.',
  },
  cluster_mismatch: {
    status: 403,
    cause: 'The credential, certificate or cluster uid belongs to another cluster than the request is about.',
    remedy: "Take a token of this cluster's own record, or bind the record anew: `servicectl clusters rebind CLUSTER`.",
  },
  cluster_disabled: {
    status: 403,
    cause: 'An administrator switched the cluster off.',
    remedy: 'Switch it on again when it may be: `servicectl clusters enable CLUSTER`.',
  },
  forbidden: {
    status: 403,
    cause: 'The caller is known and may not do this.',
    remedy:
      'The message names the scope or role that is missing and who can give it; `servicectl whoami` says what you have.',
  },
  job_not_found: {
    status: 404,
    cause: 'There is no such job, or it is not of this cluster.',
    remedy: 'Drop it and poll again.',
  },
  not_found: {
    status: 404,
    cause: "There is nothing at this path, or nothing of this name in the caller's organization.",
    remedy: 'List what there is; look at the organization that you act in (`servicectl whoami`).',
  },
  not_acceptable: {
    status: 406,
    cause: 'The media types in `Accept` are none that this endpoint answers in.',
    remedy: 'Accept the media type of the agent API, or leave the header out.',
  },
  job_closed: {
    status: 409,
    cause: 'The job has ended, expired or was replaced by a newer one.',
    remedy: 'Drop it and poll again; the newest intent comes in a job of its own.',
  },
  result_exists: {
    status: 409,
    cause: 'The job has its result, and it is another one.',
    remedy: 'Drop it: the first one stands.',
  },
  already_rotated: {
    status: 409,
    cause: 'The credential was replaced already, and the one that replaced it is in use.',
    remedy: 'Read the stored credential again and go on with that.',
  },
  conflict: {
    status: 409,
    cause: 'What is asked for does not go with how things stand: a name is taken, or something else is under way.',
    remedy: 'Read again how it stands, do what the message says, and ask anew.',
  },
  precondition_failed: {
    status: 412,
    cause: 'It was changed since it was read (`If-Match`), or is there already (`If-None-Match: *`).',
    remedy: 'Read it again, put your change on top, and send it with the new `ETag`.',
  },
  payload_too_large: {
    status: 413,
    cause: 'The body is larger than this endpoint takes.',
    remedy: 'Send less at once; the message has the limit.',
  },
  unsupported_media_type: {
    status: 415,
    cause: 'The `Content-Type` is none that this endpoint takes.',
    remedy: 'Send `Content-Type: application/json`.',
  },
  rate_limited: {
    status: 429,
    cause: 'There were more requests than the limit of this kind.',
    remedy: 'Wait as long as `Retry-After` says; an administrator can raise `SERVICE_RATE_LIMIT_…`.',
  },
  internal: {
    status: 500,
    cause: 'The control plane failed at this request.',
    remedy: "Look for the `requestId` in the control plane's log.",
  },
  unavailable: {
    status: 503,
    cause: 'The control plane cannot serve it now: it starts, its database does not answer, or too much waits.',
    remedy: 'Wait as long as `Retry-After` says; `/readyz` says why.',
  },
} as const satisfies Readonly<Record<string, ErrorDescription>>;

export type ErrorCode = keyof typeof ERROR_CODES;
