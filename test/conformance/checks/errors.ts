import { must, mustBe, mustRefuse, type Check } from '../check.ts';
import { AGENT_MEDIA_TYPE } from '../cluster-client.ts';
import { DECISIONS, PAGE, SPEC } from '../sections.ts';

/** The one error body, and paths that are not there. */
export const ERRORS: readonly Check[] = [
  {
    id: 'errors.unknown-endpoint',
    section: SPEC.errors,
    heading: PAGE.errors,
    sentence: 'an unknown endpoint is 404 in the error body',
    run: async (stage) => {
      mustRefuse(await (await stage.cluster()).get('/api/agent/nothing-here'), 404, 'not_found');
    },
  },
  {
    id: 'errors.without-a-credential',
    section: DECISIONS.errors,
    heading: PAGE.errors,
    sentence: 'what is nowhere is 404 to everybody',
    run: async (stage) => {
      const cluster = await stage.cluster();
      mustRefuse(await cluster.get('/api/agent/nothing-here', { authorization: undefined }), 404, 'not_found');
    },
  },
  {
    id: 'errors.wrong-method',
    section: DECISIONS.errors,
    heading: PAGE.errors,
    sentence: 'a method that a path does not take is an error in the error body, and Allow names those it takes',
    run: async (stage) => {
      const answer = await (await stage.cluster()).get('/api/agent/events');
      mustRefuse(answer, 404, 'not_found');
      must(String(answer.headers['allow']).includes('POST'), 'Allow: POST', answer);
    },
  },
  {
    id: 'errors.trailing-slash',
    section: DECISIONS.errors,
    heading: PAGE.every,
    sentence: 'a path with a slash behind it is another path: 404',
    run: async (stage) => {
      mustRefuse(await (await stage.cluster()).get('/api/agent/config/?wait=0'), 404, 'not_found');
    },
  },
  {
    id: 'errors.names-the-fault',
    section: SPEC.errors,
    heading: PAGE.errors,
    sentence: 'a 400 says in its message which field is wrong',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const answer = await cluster.post('/api/agent/events', { cluster_id: cluster.id, events: 'none' });
      const { message } = mustRefuse(answer, 400, 'constraint_violated');
      must(String(message).includes('events'), 'the name of the field', answer);
    },
  },
  {
    id: 'errors.broken-json',
    section: DECISIONS.errors,
    heading: PAGE.errors,
    sentence: 'a body that is not JSON is 400 invalid_body in the error body',
    run: async (stage) => {
      const cluster = await stage.cluster();
      mustRefuse(await cluster.send({ path: '/api/agent/events', text: '{"events":[' }), 400, 'invalid_body');
    },
  },
  {
    id: 'errors.unreadable-path',
    section: DECISIONS.errors,
    heading: PAGE.errors,
    sentence: 'a path that cannot be decoded is an error in the error body',
    run: async (stage) => {
      const answer = await (await stage.cluster()).get('/api/agent/jobs/%zz');
      must(answer.status === 400 || answer.status === 404, 'status 400 or 404', answer);
      mustRefuse(answer, answer.status, 'invalid_body', 'constraint_violated', 'not_found');
      must(answer.headers['content-type'] === AGENT_MEDIA_TYPE, `content-type ${AGENT_MEDIA_TYPE}`, answer);
    },
  },
  {
    id: 'errors.echoes-no-credential',
    section: 'Specification, Secret handling',
    heading: PAGE.every,
    sentence: 'no answer repeats a credential that it was sent',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const answers = [
        await cluster.get('/api/agent/config?wait=0', { authorization: `Basic ${cluster.token}` }),
        await cluster.get(`/api/agent/nothing-here?token=${cluster.token}`),
        await cluster.post('/api/agent/events', { cluster_id: cluster.token, events: [] }),
        await cluster.send({ path: '/api/agent/events', text: `{"token":"${cluster.token}` }),
      ];
      for (const answer of answers) {
        const all = JSON.stringify(answer.headers) + answer.text;
        must(!all.includes(cluster.token.slice(7)), 'an answer without the token', answer);
      }
    },
  },
  {
    id: 'errors.disabled-cluster',
    section: SPEC.errors,
    heading: PAGE.errors,
    sentence: 'a disabled record is 403 cluster_disabled, and works again when it is enabled',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.shared('ended', async () => await stage.newCluster());
      await stage.admin.succeed('POST', `/clusters/${cluster.id}/disable`);
      mustRefuse(await cluster.get('/api/agent/config?wait=0'), 403, 'cluster_disabled');
      mustRefuse(await cluster.poll(), 403, 'cluster_disabled');
      mustRefuse(await cluster.post('/api/agent/events', { events: [] }), 403, 'cluster_disabled');
      await stage.admin.succeed('POST', `/clusters/${cluster.id}/enable`);
      mustBe(await cluster.get('/api/agent/config?wait=0'), 200);
    },
  },
  {
    id: 'errors.revoked-credential',
    section: SPEC.identityStates,
    heading: PAGE.errors,
    sentence: 'a credential that an admin revoked is 401 invalid_token',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.shared('ended', async () => await stage.newCluster());
      await stage.admin.succeed('POST', `/clusters/${cluster.id}/revoke`);
      mustRefuse(await cluster.get('/api/agent/config?wait=0'), 401, 'invalid_token');
    },
  },
];
