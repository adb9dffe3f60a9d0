import { must } from '../../check.ts';
import { AGENT_MEDIA_TYPE } from '../../cluster-client.ts';
import { DECISIONS, PAGE, SPEC } from '../../sections.ts';
import { mustEqual, type OperatorCheck } from '../operator-check.ts';
import { CLUSTER_ID } from '../scripted-control-plane.ts';

const TOKEN = /svc(reg|agt)_[A-Za-z0-9_-]+/;

/** What every request must have. These look at all that the other checks have made the operator send, so they come last. */
export const WIRE: readonly OperatorCheck[] = [
  {
    id: 'wire.accept',
    section: SPEC.headers,
    heading: PAGE.every,
    sentence: 'every request accepts the agent media type',
    run: async ({ plane }) => {
      const others = plane.seen.filter(({ headers }) => headers.accept !== AGENT_MEDIA_TYPE);
      mustEqual(
        others.map(({ method, path }) => `${method} ${path}`),
        [],
        'requests with another Accept',
      );
    },
  },
  {
    id: 'wire.content-type',
    section: SPEC.headers,
    heading: PAGE.every,
    sentence: 'every request with a body has the agent media type',
    run: async ({ plane }) => {
      const bodies = plane.seen.filter(({ body }) => body !== undefined);
      must(bodies.length > 0, 'requests with a body');
      const others = bodies.filter(({ headers }) => headers['content-type'] !== AGENT_MEDIA_TYPE);
      mustEqual(
        others.map(({ method, path }) => `${method} ${path}`),
        [],
        'bodies of another type',
      );
    },
  },
  {
    id: 'wire.bearer',
    section: SPEC.headers,
    heading: PAGE.every,
    sentence: 'every request but register and recover carries the bearer token',
    run: async ({ plane }) => {
      const others = plane.seen.filter(
        ({ path, headers }) =>
          !/\/(register|recover)$/.test(path) && !/^Bearer svcagt_\S+$/.test(headers.authorization ?? ''),
      );
      mustEqual(
        others.map(({ method, path }) => `${method} ${path}`),
        [],
        'requests without it',
      );
    },
  },
  {
    id: 'wire.mac',
    section: SPEC.writes,
    heading: PAGE.signing,
    sentence: 'every ack, status, result and post of events has a MAC that fits',
    run: async ({ plane }) => {
      const writes = plane.requests(/^POST \/api\/agent\/(events|jobs\/)/);
      must(writes.length > 0, 'writes');
      const faults = writes.filter(({ macFault }) => macFault !== undefined);
      mustEqual(
        faults.map(({ path, macFault }) => `${path}: ${macFault ?? ''}`),
        [],
        'MACs that do not fit',
      );
    },
  },
  {
    id: 'wire.paths-hold-no-credential',
    section: 'Specification, Secret handling',
    heading: PAGE.every,
    sentence: 'no credential is in a path, a query or any other header',
    run: async ({ plane }) => {
      const leaks = plane.seen.filter(({ path, headers }) => {
        const { authorization: _expected, ...rest } = headers;
        return TOKEN.test(path) || TOKEN.test(JSON.stringify(rest));
      });
      mustEqual(
        leaks.map(({ method, path }) => `${method} ${path.replace(TOKEN, '…')}`),
        [],
        'requests with one',
      );
    },
  },
  {
    id: 'wire.poll',
    section: SPEC.endpoints,
    heading: PAGE.poll,
    sentence: 'a poll names the own cluster and a wait of 0 to 300 whole seconds',
    run: async ({ plane }) => {
      const polls = plane.requests(/^GET \/api\/agent\/jobs\?/);
      must(polls.length > 0, 'polls');
      for (const { path } of polls) {
        const query = new URL(path, 'http://localhost').searchParams;
        mustEqual(query.get('cluster'), CLUSTER_ID, 'cluster of a poll');
        const wait = query.get('wait') ?? '30';
        must(/^\d{1,3}$/.test(wait) && Number(wait) <= 300, `a wait of 0 to 300, not ${wait}`);
      }
    },
  },
  {
    id: 'wire.one-held-request',
    section: DECISIONS.register,
    heading: PAGE.poll,
    sentence: 'in pull mode a cluster holds one request at a time',
    run: async ({ plane }) => {
      mustEqual(plane.mostHeld, 1, 'requests held at once');
    },
  },
  {
    id: 'wire.register',
    section: SPEC.registration,
    heading: PAGE.register,
    sentence: 'register sends the token, the UID of kube-system and a public key, and nothing of the private one; once',
    run: async ({ plane }) => {
      const [first, ...more] = plane.requests(/ \/api\/agent\/register$/);
      mustEqual(more.length, 0, 'further registrations');
      const body = (first?.body ?? {}) as {
        token?: string;
        cluster_uid?: string;
        public_key?: Record<string, string>;
      };
      must(body.token?.startsWith('svcreg_') === true, 'the registration token');
      must((body.cluster_uid ?? '') !== '', 'a cluster_uid');
      mustEqual(body.public_key?.['crv'], 'X25519', 'curve of the key');
      must(!Object.hasOwn(body.public_key ?? {}, 'd'), 'no private member');
    },
  },
];
