import type { Fault, PassingAnswer, PassingCall } from './faulty-proxy.ts';

const NO_CONTENT: PassingAnswer = { status: 204, headers: {}, body: '' };

/** Answers with this error code become a success. */
function forgives(code: string, breaks: readonly string[], body = ''): Fault {
  return {
    title: `that lets ${code} pass`,
    breaks,
    change: (answer) => {
      if (!answer.body.includes(`"error":"${code}"`)) return;
      answer.status = body === '' ? 204 : 200;
      answer.body = body;
    },
  };
}

/** Answers below 300 to a path have a member changed; undefined takes it away. */
function spoils(path: RegExp, member: string, value: unknown, breaks: readonly string[]): Fault {
  return {
    title: `that answers ${member} as ${value === undefined ? 'nothing' : JSON.stringify(value)} to ${path.source}`,
    breaks,
    change: (answer, call) => {
      if (!path.test(call.path) || answer.status >= 300 || answer.body === '') return;
      const body = JSON.parse(answer.body) as Record<string, unknown>;
      const inner = member.split('.');
      const last = inner.pop() ?? '';
      for (const owner of ownersOf(body, inner)) {
        if (value === undefined) delete owner[last];
        else owner[last] = value;
      }
      answer.body = JSON.stringify(body);
    },
  };
}

/** The objects at a path of member names, each item of a list on the way. */
function ownersOf(value: unknown, names: readonly string[]): Record<string, unknown>[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => ownersOf(item, names));
  if (typeof value !== 'object' || value === null) return [];
  const [name, ...rest] = names;
  return name === undefined
    ? [value as Record<string, unknown>]
    : ownersOf((value as Record<string, unknown>)[name], rest);
}

/** Calls that fit are answered as done and never reach the control plane. */
function swallows(what: RegExp, breaks: readonly string[]): Fault {
  return {
    title: `that forgets what comes to ${what.source}`,
    breaks,
    instead: (call) => (call.method === 'POST' && what.test(call.path) ? { ...NO_CONTENT } : undefined),
  };
}

function header(
  name: string,
  value: string | undefined,
  when: (answer: PassingAnswer, call: PassingCall) => boolean,
  breaks: readonly string[],
): Fault {
  return {
    title: `whose ${name} is ${value ?? 'missing'} (${breaks.join(', ')})`,
    breaks,
    change: (answer, call) => {
      if (!when(answer, call)) return;
      if (value === undefined) delete answer.headers[name];
      else answer.headers[name] = value;
    },
  };
}

function refuses(title: string, fits: (call: PassingCall) => boolean, breaks: readonly string[]): Fault {
  const body = JSON.stringify({ error: 'constraint_violated', message: 'no', requestId: 'r' });
  return { title, breaks, instead: (call) => (fits(call) ? { status: 400, headers: {}, body } : undefined) };
}

const always = (): boolean => true;
const REGISTER = /\/register$/;
const JOBS = /\/jobs\?/;

/** Control planes that each break some rules, and the checks that must say so. */
export const FAULTS: readonly Fault[] = [
  spoils(REGISTER, 'token', undefined, ['register.answers-a-credential']),
  spoils(REGISTER, 'rotate_after', undefined, ['register.answers-all-fields', 'register.lifetime']),
  spoils(REGISTER, 'ca_certificate', null, ['register.answers-all-fields']),
  spoils(REGISTER, 'ca_certificate', 'a root', ['register.ca-certificate']),
  spoils(REGISTER, 'cluster_id', 'C-1', ['register.cluster-id-form']),
  spoils(REGISTER, 'token', `svcagt_${'A'.repeat(49)}`, ['register.token-form', 'register.credential-works-at-once']),
  spoils(REGISTER, 'expires_at', '2099-01-01T00:00:00Z', ['register.lifetime']),
  spoils(REGISTER, 'signing_public_keys.keys.d', 'secret', ['register.signing-keys']),
  spoils(/\/config/, 'intervals.rotate_seconds', '604800', ['config.intervals']),
  spoils(/\/config/, 'security', {}, ['config.security', 'payload-security.toggles']),
  spoils(/\/config/, 'cluster_id', 'c-other', ['config.fields']),
  spoils(/\/config/, 'signing_public_keys', { keys: [] }, ['config.same-key-as-registered']),
  spoils(JOBS, 'jobs', {}, ['jobs.empty-poll', 'limits.wait-is-kept']),
  spoils(JOBS, 'jobs.kind', 'intent', ['jobs.apply', 'jobs.delete']),
  spoils(JOBS, 'jobs.expiresAt', undefined, ['jobs.fields']),
  spoils(JOBS, 'jobs.payload.intentVersion', 'v2', ['jobs.intent']),
  spoils(JOBS, 'jobs.deliveryEpoch', 7, ['jobs.order']),
  spoils(JOBS, 'jobs.payload.name', 'other', ['jobs.delete']),
  spoils(JOBS, 'jobs.signature', 'e30..AAAA', ['payload-security.signed']),
  spoils(JOBS, 'jobs.payload', {}, ['payload-security.encrypted']),
  spoils(/\/config/, 'signing_key_endorsements', [], ['payload-security.endorsed-successor']),
  spoils(/\/config/, 'credential', { rotate_after: '2099-01-01T00:00:00Z' }, ['credentials.rotation-on-request']),
  spoils(/\/recover$/, 'token_jwe', 'a.b.c.d.e', ['credentials.recover']),
  spoils(/\/rotate$/, 'token', 'svcagt_same', ['credentials.rotate', 'credentials.signed-with-the-new']),
  header('service-request-id', undefined, ({ status }) => status === 204, [
    'headers.request-id',
    'job-reports.as-one-object',
  ]),
  header('service-request-id', 'mine', always, ['headers.request-id', 'headers.request-id-is-the-servers']),
  header('content-type', 'application/json', always, [
    'headers.media-type-of-answers',
    'media-types.accept-may-be-absent',
    'media-types.several-in-accept',
    'versioning.v1-is-served',
    'errors.unreadable-path',
  ]),
  header('service-config-revision', undefined, ({ status }) => status >= 400, ['headers.config-revision']),
  header('service-config-revision', '7', always, ['headers.no-revision-for-strangers', 'config.wakes-on-change']),
  header('cache-control', 'public', always, ['headers.registers-ends-caching', 'credentials.rotate']),
  header('retry-after', '0', always, ['rate-limits.polls', 'rate-limits.events', 'credentials.recover-is-limited']),
  header('allow', '', always, ['errors.wrong-method']),
  header('etag', undefined, always, ['config.revision-as-etag']),
  forgives('registration_token_used', ['register.used-token', 'register.race']),
  forgives('invalid_token', [
    'register.unknown-token',
    'register.foreign-token',
    'register.token-is-good-for-nothing-else',
    'headers.malformed-token',
    'headers.unknown-token',
    'errors.revoked-credential',
    'credentials.rotate-again-when-lost',
  ]),
  forgives('missing_token', [
    'register.missing-token',
    'headers.missing-token',
    'credentials.rotate-needs-a-credential',
  ]),
  forgives('cluster_mismatch', [
    'register.bound-to-a-cluster',
    'jobs.another-cluster',
    'events.another-cluster',
    'job-reports.another-clusters-job',
  ]),
  forgives('cluster_disabled', ['errors.disabled-cluster'], '{}'),
  forgives('forbidden', ['credentials.recover-revoked', 'credentials.recover-unknown-cluster'], '{"token_jwe":"x"}'),
  forgives('invalid_signature', [
    'hmac.missing',
    'hmac.missing-on-job-posts',
    'hmac.malformed',
    'hmac.binds-body',
    'hmac.binds-path-and-method',
    'hmac.binds-query',
    'hmac.key-of-the-token',
    'credentials.rotate-checks-a-mac',
    'credentials.signed-with-the-new',
  ]),
  forgives('clock_skew', ['hmac.clock-skew']),
  forgives('invalid_body', ['hmac.body-first', 'errors.broken-json', 'limits.nesting']),
  forgives('constraint_violated', [
    'events.unknown-kind',
    'events.kind-of-resource',
    'events.required-fields',
    'events.names-the-index',
    'events.most-events',
    'events.all-or-nothing',
    'errors.names-the-fault',
    'limits.wait',
    'limits.long-event-key',
    'config.wait-limits',
    'jobs.cluster-is-required',
    'job-reports.outcomes',
    'job-reports.status-fields',
    'credentials.rotate-checks-the-key',
  ]),
  forgives('not_acceptable', ['media-types.unknown-version'], '{}'),
  forgives('unsupported_media_type', ['media-types.other-body-types', 'media-types.compressed-body']),
  forgives('payload_too_large', ['limits.post-size', 'job-reports.size']),
  forgives('job_not_found', ['job-reports.unknown-job', 'media-types.empty-body-has-none']),
  forgives('not_found', [
    'errors.unknown-endpoint',
    'errors.without-a-credential',
    'errors.wrong-method',
    'errors.trailing-slash',
  ]),
  forgives('result_exists', ['job-reports.result-again']),
  forgives('job_closed', ['job-reports.closed']),
  forgives('already_rotated', ['credentials.rotate-twice-with-the-old'], '{"token":"x"}'),
  swallows(/\/events/, [
    'events.recorded-once',
    'events.another-transition',
    'events.durable-entry',
    'current-status.late-event',
    'current-status.made-anew',
    'current-status.channel',
  ]),
  {
    title: 'that looks at a used token no further',
    breaks: ['register.used-token-is-audited'],
    instead: refuseSeenTokens(),
  },
  spoils(JOBS, 'jobs.payload.metadata.annotations', {}, ['payload-security.object-annotation']),
  spoils(JOBS, 'jobs.payload.spec', {}, ['payload-security.object-annotation']),
  swallows(/\/ack$/, ['jobs.again-until-acknowledged', 'job-reports.another-clusters-job']),
  swallows(/\/status$/, ['job-reports.phases', 'job-reports.without-ack']),
  swallows(/\/result$/, ['job-reports.result-again', 'job-reports.closed', 'job-reports.is-shown']),
  {
    title: 'that does not hold requests',
    breaks: [
      'limits.wait-is-kept',
      'held-polls.a-fourth-ends-the-oldest',
      'held-polls.the-newest-gets-the-job',
      'held-polls.other-modes',
      'jobs.wakes-a-held-poll',
      'config.revision-as-etag',
      'config.wakes-on-change',
    ],
    path: (path) => path.replace(/wait=\d+$/, 'wait=0'),
  },
  {
    title: 'that repeats what it was sent',
    breaks: ['errors.echoes-no-credential'],
    change: (answer, call) => {
      if (answer.status >= 400) answer.headers['x-debug'] = call.headers['authorization'] ?? '';
    },
  },
  {
    title: 'that gives each cluster the jobs of all',
    breaks: ['jobs.only-its-own'],
    change: withJobsOfAll(),
  },
  refuses('that knows only what it documents', ({ body }) => body.includes('"later"'), [
    'versioning.extra-request-fields',
    'job-reports.extra-fields',
  ]),
  refuses('that refuses other parameters', ({ path }) => path.includes('later'), ['versioning.extra-query']),
  refuses('that refuses other headers', ({ headers }) => headers['service-later'] !== undefined, [
    'versioning.extra-headers',
  ]),
  refuses('that takes its own media type alone', ({ headers }) => headers['content-type'] === 'application/json', [
    'media-types.body-types',
  ]),
  refuses(
    'that reads the scheme as it is written',
    ({ headers }) => String(headers['authorization']).startsWith('bearer '),
    ['headers.scheme-in-any-case'],
  ),
  refuses('that takes a token in the body alone', ({ path, body }) => REGISTER.test(path) && !body.includes('svcreg'), [
    'register.token-in-header',
  ]),
  refuses('that takes no -0', ({ body }) => body.includes('-0.0'), ['hmac.canonical-form']),
  refuses('that minds spaces', ({ body }) => body.includes(' "events" :'), ['hmac.taken']),
  refuses('that asks for a MAC of reads', ({ method }) => method === 'GET', ['hmac.not-on-polls']),
  refuses('that takes no body for an ack', ({ path, body }) => path.endsWith('/ack') && body.length > 0, [
    'job-reports.ack-again',
  ]),
  refuses('that takes no batches', ({ body }) => body.toString().split('"eventKey"').length > 2, [
    'events.takes-a-batch',
    'events.takes-a-replay',
    'events.every-kind',
  ]),
  refuses('that takes no empty batch', ({ body }) => body.includes('"events":[]'), ['events.empty-batch']),
  refuses('that knows no Unknown', ({ body }) => body.includes('"Unknown"'), ['events.unknown-status']),
  refuses('that asks for a cluster_id', ({ path, body }) => path.endsWith('/events') && !body.includes('cluster_id'), [
    'events.cluster-id-may-be-absent',
  ]),
  refuses('that takes half a MiB', ({ body }) => body.length > 524_288, ['limits.post-size-below']),
  refuses('that takes no conditions', ({ body }) => body.includes('"Reconciling"'), ['job-reports.flow']),
];

/** Refuses what it should, and the control plane never hears of it. */
function refuseSeenTokens(): NonNullable<Fault['instead']> {
  const seen = new Set<string>();
  const body = JSON.stringify({ error: 'registration_token_used', message: 'used', requestId: 'r' });
  return (call) => {
    const text = call.body.toString();
    if (!REGISTER.test(call.path)) return undefined;
    if (seen.has(text)) return { status: 401, headers: {}, body };
    seen.add(text);
    return undefined;
  };
}

function withJobsOfAll(): NonNullable<Fault['change']> {
  const seen: unknown[] = [];
  return (answer, call) => {
    if (!JOBS.test(call.path) || answer.status !== 200) return;
    const { jobs } = JSON.parse(answer.body) as { jobs: unknown[] };
    seen.push(...jobs);
    answer.body = JSON.stringify({ jobs: seen });
  };
}
