import { describe, expect, it } from 'vitest';
import { AgentClient, type AgentIdentity } from '../../src/operator/agent-client.ts';
import { AgentSession } from '../../src/operator/agent-session.ts';
import { Contact } from '../../src/operator/contact.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { CLUSTER_ID, FakeControlPlane } from './fake-control-plane.ts';

const NEVER = new AbortController().signal;
const CALL = { method: 'GET', path: '/api/agent/config?wait=0' } as const;

function identity(token: string): AgentIdentity {
  return { token: new Secret(token), clusterId: CLUSTER_ID };
}

class SessionRun implements AsyncDisposable {
  readonly plane: FakeControlPlane;
  readonly authenticated: string[] = [];
  readonly contacts: string[] = [];
  readonly client: AgentClient;
  readonly session: AgentSession;
  stored: AgentIdentity | undefined;
  refreshes = 0;

  constructor(plane: FakeControlPlane) {
    this.plane = plane;
    this.client = new AgentClient({ baseUrl: plane.url, caCertificate: '', userAgent: 'test', clock: systemClock });
    this.session = new AgentSession({
      contact: new Contact({ clock: systemClock, onChange: (state) => void this.contacts.push(state) }),
      logger: createLogger('test', 'silent'),
      refresh: async (refused) => {
        this.refreshes += 1;
        const other = this.stored?.token.expose() !== refused.token.expose();
        if (!other || this.stored === undefined) return { state: 'refused' };
        this.session.use(this.client, this.stored);
        return { state: 'replaced' };
      },
      onAuthenticated: ({ status, reason }) => void this.authenticated.push(`${status} ${reason}`),
    });
  }

  use(token: string): void {
    this.stored = identity(token);
    this.session.use(this.client, identity(token));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client[Symbol.asyncDispose]();
  }
}

describe('a session', () => {
  it('waits with its calls until there is a credential', async () => {
    await using plane = await FakeControlPlane.start();
    await using run = new SessionRun(plane);
    plane.tokens.add('t1');
    const call = run.session.call(CALL, NEVER);
    run.use('t1');
    expect((await call).state).toBe('ok');
    expect(run.authenticated).toEqual(['True Registered']);
  });

  it('reads the Secret again at a 401 and goes on with what it holds by then', async () => {
    await using plane = await FakeControlPlane.start();
    await using run = new SessionRun(plane);
    plane.tokens.add('t2');
    run.use('t1');
    run.stored = identity('t2');
    expect((await run.session.call(CALL, NEVER)).state).toBe('ok');
    expect({ state: run.session.state, tries: plane.requests.length, story: run.authenticated }).toEqual({
      state: 'open',
      tries: 2,
      story: ['True Registered'],
    });
  });

  it.each([
    ['the same credential', 't1', 1],
    ['another one that is refused too', 't2', 2],
  ])('stops at a 401 when the Secret holds %s', async (_, stored, tries) => {
    await using plane = await FakeControlPlane.start();
    await using run = new SessionRun(plane);
    run.use('t1');
    run.stored = identity(stored);
    expect(await run.session.call(CALL, NEVER)).toMatchObject({ state: 'refused', code: 'invalid_token' });
    expect({ state: run.session.state, tries: plane.requests.length, story: run.authenticated }).toEqual({
      state: 'stopped',
      tries,
      story: ['True Registered', 'False CredentialRefused'],
    });
  });

  it.each([
    ['cluster_disabled', 'False ClusterDisabled'],
    ['cluster_mismatch', 'False ClusterUidMismatch'],
    ['forbidden', 'False CredentialRefused'],
  ] as const)('stops at a 403 %s, sends nothing more, and opens when a probe is answered', async (code, story) => {
    await using plane = await FakeControlPlane.start();
    await using run = new SessionRun(plane);
    plane.tokens.add('t1');
    run.use('t1');
    plane.intercept = (_request, response) => {
      plane.refuse(response, code, 'no');
      return true;
    };
    await run.session.call(CALL, NEVER);
    const waiting = run.session.call(CALL, NEVER);
    expect({ state: run.session.state, sent: plane.requests.length }).toEqual({ state: 'stopped', sent: 1 });
    plane.intercept = () => false;
    expect((await run.session.probe(CALL, NEVER)).state).toBe('ok');
    expect((await waiting).state).toBe('ok');
    expect(run.authenticated).toEqual(['True Registered', story, 'True Registered']);
  });

  it('is not opened again by the answer to a call that was sent before it was stopped', async () => {
    await using plane = await FakeControlPlane.start();
    await using run = new SessionRun(plane);
    plane.tokens.add('t1');
    run.use('t1');
    const held = Promise.withResolvers<() => void>();
    plane.intercept = ({ path }, response) => {
      if (path !== '/api/agent/events') {
        held.resolve(() => {
          plane.answer(response, 200, {});
        });
        return true;
      }
      plane.refuse(response, 'invalid_signature', 'the MAC does not match');
      return true;
    };
    const before = run.session.call(CALL, NEVER);
    const answerIt = await held.promise;
    await run.session.call({ method: 'POST', path: '/api/agent/events', body: {} }, NEVER);
    answerIt();
    expect((await before).state).toBe('ok');
    expect({ state: run.session.state, story: run.authenticated }).toEqual({
      state: 'stopped',
      story: ['True Registered', 'False CredentialRefused'],
    });
  });

  it('takes a clock that is off for no fault of the credential', async () => {
    await using plane = await FakeControlPlane.start();
    await using run = new SessionRun(plane);
    run.use('t1');
    plane.intercept = (_request, response) => {
      plane.answer(response, 401, {
        error: 'clock_skew',
        message: 'the request was signed 400 s ahead',
        requestId: 'r',
        serverTime: '2026-03-01T10:00:00.000Z',
      });
      return true;
    };
    expect(await run.session.call(CALL, NEVER)).toMatchObject({
      state: 'unavailable',
      message:
        "this node's clock is off: the request was signed 400 s ahead; the server's time is 2026-03-01T10:00:00.000Z. Set the clock.",
    });
    expect(run.session.state).toBe('open');
  });

  it('counts failures of writes against the contact, and how a held request ends is left to its holder', async () => {
    const plane = await FakeControlPlane.start();
    await using run = new SessionRun(plane);
    plane.tokens.add('t1');
    run.use('t1');
    await run.session.call(CALL, NEVER);
    await plane.close();
    for (let call = 1; call <= 6; call += 1) await run.session.call({ ...CALL, holdSeconds: 30 }, NEVER);
    expect(run.contacts).toEqual(['connected']);
    for (let call = 1; call <= 5; call += 1) await run.session.call(CALL, NEVER);
    expect(run.contacts).toEqual(['connected', 'reconnecting', 'disconnected']);
  });
});
