import { describe, expect, it } from 'vitest';
import type { AgentAnswer } from '../../src/operator/agent-answer.ts';
import { MissingEndpoints } from '../../src/operator/missing-endpoints.ts';

const OK: AgentAnswer = { state: 'ok', status: 204, body: undefined };

function refusal(code: 'not_found' | 'job_not_found'): AgentAnswer {
  return { state: 'refused', status: 404, code, message: code, body: {} };
}

function watching(stalled = false): { endpoints: MissingEndpoints; story: string[] } {
  const story: string[] = [];
  let isStalled = stalled;
  const endpoints = new MissingEndpoints({
    baseUrl: () => 'https://control.test/x',
    isStalled: () => isStalled,
    set: ({ status, reason, message }) => {
      isStalled = status === 'True';
      story.push(`${status} ${reason}: ${message}`);
    },
  });
  return { endpoints, story };
}

describe('an endpoint that the control plane does not have', () => {
  it('is named with what to do, until it is there', () => {
    const { endpoints, story } = watching();
    const events = { method: 'POST', path: '/api/agent/events' } as const;
    endpoints.note(events, refusal('not_found'));
    endpoints.note(events, refusal('not_found'));
    endpoints.note({ method: 'POST', path: '/api/agent/jobs/j1/ack' }, refusal('not_found'));
    endpoints.note(events, OK);
    endpoints.note({ method: 'POST', path: '/api/agent/jobs/j2/ack' }, OK);
    const what = (names: string): string =>
      `True EndpointMissing: https://control.test/x answers and has no ${names}. Set spec.controlPlaneBaseUrl to the address of the control plane, without /api/agent, or upgrade the control plane.`;
    expect(story).toEqual([
      what('POST /api/agent/events'),
      what('POST /api/agent/events, POST /api/agent/jobs/{jobId}/ack'),
      what('POST /api/agent/jobs/{jobId}/ack'),
      'False EndpointsFound: The control plane has every endpoint that was asked for.',
    ]);
  });

  it('is found again by the process after the one that missed it', () => {
    const { endpoints, story } = watching(true);
    endpoints.note({ method: 'POST', path: '/api/agent/events' }, OK);
    endpoints.note({ method: 'POST', path: '/api/agent/events' }, OK);
    expect(story).toEqual(['False EndpointsFound: The control plane has every endpoint that was asked for.']);
  });

  it('is another thing than a job that is gone, an endpoint that may be absent, and an outage', () => {
    const { endpoints, story } = watching();
    endpoints.note({ method: 'POST', path: '/api/agent/jobs/j1/result' }, refusal('job_not_found'));
    endpoints.note({ method: 'GET', path: '/api/agent/config?wait=30' }, refusal('not_found'));
    endpoints.note(
      { method: 'GET', path: '/api/agent/jobs?cluster=c&wait=30' },
      { state: 'unavailable', message: 'answered 404', cut: false, answered: false },
    );
    expect(story).toEqual([]);
  });

  it('was one of another address, and is not missing at the one that is asked from now on', () => {
    const { endpoints, story } = watching();
    endpoints.moved();
    endpoints.note({ method: 'POST', path: '/api/agent/events' }, refusal('not_found'));
    endpoints.moved();
    endpoints.note({ method: 'POST', path: '/api/agent/jobs/j1/ack' }, OK);
    expect(story.slice(1)).toEqual([
      'False EndpointsFound: The address is another one, and nothing is known to be missing there.',
    ]);
  });
});
