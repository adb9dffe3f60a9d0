import { setTimeout as sleep } from 'node:timers/promises';
import { must } from '../../check.ts';
import { AGENT_MEDIA_TYPE } from '../../cluster-client.ts';
import { DECISIONS, PAGE, SPEC } from '../../sections.ts';
import { mustEqual, type OperatorCheck } from '../operator-check.ts';
import type { OperatorStage } from '../operator-stage.ts';
import { refusal, type ScriptedControlPlane } from '../scripted-control-plane.ts';

/** Longer than any retry of the first minute would take to come, were there one. */
const QUIET_MS = 2500;
const POLL = /^GET \/api\/agent\/jobs\?/;
const RECOVER = /\/credentials\/recover$/;

function refusesCredentials(plane: ScriptedControlPlane): void {
  const headers = { 'service-config-revision': '1' };
  plane.script = ({ path }) => {
    if (path.endsWith('/register')) return undefined;
    return path.endsWith('/recover') ? refusal(403, 'forbidden') : refusal(401, 'invalid_token', headers);
  };
}

/** An operator that has worked meets a control plane that knows its credential no more. */
async function loseCredential(stage: OperatorStage): Promise<void> {
  await stage.until('a first poll', () => stage.plane.requests(POLL).length > 0);
  refusesCredentials(stage.plane);
  stage.plane.wake();
}

/** What ends the operator's work and what renews its credential. Each has an operator of its own. */
export const IDENTITY: readonly OperatorCheck[] = [
  {
    id: 'identity.401',
    section: SPEC.errors,
    heading: PAGE.errors,
    sentence: 'after a 401 one refresh is tried; then Authenticated=False, and polling stops',
    own: () => undefined,
    run: async (stage) => {
      await loseCredential(stage);
      await stage.until('Authenticated=False', async () => (await stage.condition('Authenticated')) === 'False');
      const from = stage.plane.seen.length;
      await sleep(QUIET_MS);
      mustEqual(stage.plane.requests(POLL, from).length, 0, 'polls after that');
      mustEqual(stage.plane.requests(/credentials/).length, 1, 'refreshes');
    },
  },
  {
    id: 'identity.recovers',
    section: DECISIONS.register,
    heading: PAGE.recover,
    sentence: 'where the answers carry the revision header the one refresh is recover',
    own: () => undefined,
    run: async (stage) => {
      await loseCredential(stage);
      await stage.until('a recovery', () => stage.plane.requests(RECOVER).length > 0);
      const [{ body, headers } = { body: {}, headers: {} }] = stage.plane.requests(RECOVER);
      mustEqual((body as { cluster_id?: string }).cluster_id, 'c-0123456789abcdef', 'cluster_id');
      mustEqual(headers['accept'], AGENT_MEDIA_TYPE, 'Accept');
    },
  },
  {
    id: 'identity.403',
    section: SPEC.errors,
    heading: PAGE.errors,
    sentence: 'a 403 is not retried: polling and posting stop, and the condition shows it',
    own: (plane) => {
      plane.script = ({ path }) => (path.endsWith('/register') ? undefined : refusal(403, 'cluster_disabled'));
    },
    run: async (stage) => {
      await stage.until('Authenticated=False', async () => (await stage.condition('Authenticated')) === 'False');
      const from = stage.plane.seen.length;
      await sleep(QUIET_MS);
      const sent = stage.plane.seen.slice(from).map(({ method, path }) => `${method} ${path}`);
      mustEqual(sent, [], 'requests after that');
      mustEqual(stage.plane.requests(/credentials/).length, 0, 'refreshes');
    },
  },
  {
    id: 'identity.registration-refused',
    section: SPEC.registration,
    heading: PAGE.register,
    sentence: 'a registration token that is refused is not tried again',
    own: (plane) => {
      plane.script = () => refusal(401, 'registration_token_used');
    },
    run: async (stage) => {
      await stage.until('a registration', () => stage.plane.requests(/\/register$/).length > 0);
      await sleep(QUIET_MS);
      mustEqual(stage.plane.requests(/\/register$/).length, 1, 'registrations');
      mustEqual(stage.plane.seen.length, 1, 'requests');
    },
  },
  {
    id: 'identity.rotates',
    section: SPEC.rotation,
    heading: PAGE.rotate,
    sentence:
      'a rotate_after that has passed brings a rotation; the new credential is used, also for MACs, and reported',
    own: (plane) => {
      const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
      plane.config = { ...plane.config, credential: { expires_at: at(86_400_000), rotate_after: at(-60_000) } };
    },
    run: async (stage) => {
      const before = stage.plane.token;
      await stage.until('a rotation', () => stage.plane.rotations > 0, 30_000);
      // The answer told a later time, which is what config says from now on.
      const { credential: _done, ...config } = stage.plane.config;
      stage.plane.config = config;
      const used = `Bearer ${stage.plane.token}`;
      must(used !== `Bearer ${before}`, 'another credential');
      await stage.until('a poll with the new one', () =>
        stage.plane.requests(POLL).some(({ headers }) => headers.authorization === used),
      );
      await stage.until('CredentialRotated', () => stage.plane.events('CredentialRotated').length > 0);
      const [event] = stage.plane.events('CredentialRotated');
      const { kind, uid } = (event?.['resourceRef'] ?? {}) as { kind?: string; uid?: string };
      mustEqual(kind, 'Cluster', 'kind of resource');
      mustEqual(event?.['eventKey'], `CredentialRotated/${uid ?? ''}/Authenticated`, 'eventKey');
      const faults = stage.plane.seen.filter(({ macFault }) => macFault !== undefined);
      mustEqual(faults.length, 0, 'MACs that do not fit');
    },
  },
];
