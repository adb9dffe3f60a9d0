import type { Seen } from './scripted-control-plane.ts';

/** An operator that does something wrong, as it shows on the wire, and the checks that must notice. */
export interface OperatorFault {
  readonly title: string;
  readonly breaks: readonly string[];
  readonly spoil: (seen: Seen) => readonly Seen[];
}

type Body = Record<string, unknown>;

/** Requests that fit are remembered otherwise. */
function where(pattern: RegExp, change: (seen: Seen) => readonly Seen[]): OperatorFault['spoil'] {
  return (seen) => (pattern.test(`${seen.method} ${seen.path}`) ? change(seen) : [seen]);
}

function withBody(pattern: RegExp, change: Body): OperatorFault['spoil'] {
  return where(pattern, (seen) => [{ ...seen, body: { ...(seen.body as Body), ...change } }]);
}

function withEvents(change: (event: Body, index: number) => Body): OperatorFault['spoil'] {
  let count = 0;
  return where(/\/events$/, (seen) => {
    const body = seen.body as { events: Body[] };
    const events = body.events.map((event) => change(event, (count += 1)));
    return [{ ...seen, body: { ...body, events } }];
  });
}

const withHeader = (change: Seen['headers']): OperatorFault['spoil'] =>
  where(/./, (seen) => [{ ...seen, headers: { ...seen.headers, ...change } }]);

const RESULT = /\/result$/;

export const OPERATOR_FAULTS: readonly OperatorFault[] = [
  {
    title: 'acknowledges nothing',
    breaks: ['jobs.flow'],
    spoil: where(/\/ack$/, () => []),
  },
  {
    title: 'says phases of its own',
    breaks: ['jobs.reconciling-status'],
    spoil: withBody(/\/status$/, { phase: 'Busy' }),
  },
  {
    title: 'always succeeds',
    breaks: [
      'jobs.replay',
      'jobs.older-than-the-object',
      'jobs.expired',
      'jobs.unknown-kind',
      'jobs.namespace',
      'jobs.other-kinds',
      'jobs.conflict',
      'payload-security.altered',
      'payload-security.for-another-use',
      'payload-security.does-not-open',
    ],
    spoil: withBody(RESULT, { outcome: 'succeeded' }),
  },
  {
    title: 'always fails',
    breaks: [
      'jobs.ack-before-apply',
      'jobs.unknown-fields',
      'jobs.one-that-cannot-be-read',
      'jobs.delete',
      'payload-security.signed',
      'payload-security.encrypted',
    ],
    spoil: withBody(RESULT, { outcome: 'failed', error: 'no' }),
  },
  {
    title: 'says everything twice',
    breaks: ['jobs.closed', 'jobs.redelivered', 'jobs.result-exists', 'resilience.slow-answers', 'wire.register'],
    spoil: where(/^POST/, (seen) => [seen, seen]),
  },
  {
    title: 'reports under keys of its own',
    breaks: ['events.transitions'],
    spoil: withEvents((event) => ({ ...event, eventKey: 'key' })),
  },
  {
    title: 'counts backwards',
    breaks: ['events.sequence-grows'],
    spoil: withEvents((event, index) => ({ ...event, sequence: `0.${1_000_000 - index}` })),
  },
  {
    title: 'names no cluster in its events',
    breaks: ['events.batches'],
    spoil: withBody(/\/events$/, { cluster_id: undefined }),
  },
  {
    title: 'does not wait',
    breaks: [
      'events.sent-again',
      'resilience.5xx-on-polls',
      'resilience.5xx-on-results',
      'resilience.429-in-seconds',
      'resilience.429-as-a-date',
    ],
    spoil: where(/./, (seen) => [{ ...seen, atMs: 1 }]),
  },
  {
    title: 'asks for another credential with every poll',
    breaks: ['resilience.html-401', 'resilience.unknown-error-code'],
    spoil: where(/\/jobs\?/, (seen) => [seen, { ...seen, method: 'POST', path: '/api/agent/credentials/rotate' }]),
  },
  { title: 'accepts anything', breaks: ['wire.accept'], spoil: withHeader({ accept: '*/*' }) },
  {
    title: 'sends plain JSON',
    breaks: ['wire.content-type'],
    spoil: withHeader({ 'content-type': 'application/json' }),
  },
  { title: 'sends no token', breaks: ['wire.bearer'], spoil: withHeader({ authorization: undefined }) },
  {
    title: 'tells its token in another header',
    breaks: ['wire.paths-hold-no-credential'],
    spoil: withHeader({ 'x-token': 'svcagt_secret' }),
  },
  { title: 'signs wrongly', breaks: ['wire.mac'], spoil: where(/./, (seen) => [{ ...seen, macFault: 'wrong' }]) },
  {
    title: 'polls for everybody, and for ever',
    breaks: ['wire.poll'],
    spoil: where(/\/jobs\?/, (seen) => [{ ...seen, path: '/api/agent/jobs?wait=3000' }]),
  },
];

/** What no request can show wrongly: these judge the cluster, or the requests that are missing. */
export const NOT_SPOILED: readonly string[] = [
  'jobs.labels',
  'events.bad-one-is-dropped',
  'resilience.ack-is-not-starved',
  'resilience.cut',
  'resilience.other-media-type',
  'resilience.not-json',
  'resilience.huge-answer',
  'resilience.redirect',
  'resilience.config-revision',
  'wire.one-held-request',
  'identity.401',
  'identity.recovers',
  'identity.403',
  'identity.registration-refused',
  'identity.rotates',
];
