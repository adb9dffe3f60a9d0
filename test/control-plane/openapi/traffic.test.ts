import { beforeAll, describe, expect, it } from 'vitest';
import { apiDocument } from '../../../src/control-plane/http/openapi/api-document.ts';
import { AGENT_MEDIA_TYPE } from '../../../src/protocol/media-type.ts';
import { OpenApiTraffic, type Traffic } from '../../support/openapi-traffic.ts';
import { RunningControlPlane } from '../running-control-plane.ts';

let traffic: OpenApiTraffic;
/** As a control plane answered it. */
let cluster: Record<string, unknown>;

beforeAll(async () => {
  traffic = new OpenApiTraffic(await apiDocument());
  await using plane = await RunningControlPlane.start();
  const id = await plane.newCluster('spoiled');
  cluster = (await plane.call('GET', `/clusters/${id}`)).body;
});

function read(answer: unknown, changes: Partial<Traffic> = {}): Traffic {
  return {
    method: 'GET',
    path: '/api/v1/clusters/spoiled',
    status: 200,
    mediaType: 'application/json',
    text: JSON.stringify(answer),
    ...changes,
  };
}

describe('the check of traffic', () => {
  it('takes an answer that is as the document says', () => {
    expect(traffic.faultsOf(read(cluster))).toEqual([]);
  });

  it('finds a member that is not documented, however deep', () => {
    const intervals = { ...(cluster['intervals'] as object), jitterSeconds: 1 };
    expect(traffic.faultsOf(read({ ...cluster, intervals })).join('\n')).toContain('/intervals');
    expect(traffic.faultsOf(read({ ...cluster, color: 'red' })).join('\n')).toContain('/color');
  });

  it('finds that a member is missing, or of another type', () => {
    const { slug: _slug, ...rest } = cluster;
    expect(traffic.faultsOf(read(rest)).join('\n')).toContain('slug');
    expect(traffic.faultsOf(read({ ...cluster, status: 'Asleep' })).join('\n')).toContain('/status');
    expect(traffic.faultsOf(read({ ...cluster, createdAt: 'yesterday' })).join('\n')).toContain('/createdAt');
  });

  it('finds a status, a media type and a body that are not documented', () => {
    expect(traffic.faultsOf(read(cluster, { status: 206 }))).toEqual(['the status 206 is not documented']);
    expect(traffic.faultsOf(read(cluster, { mediaType: AGENT_MEDIA_TYPE }))).toEqual([
      `the media type is ${AGENT_MEDIA_TYPE}, documented is application/json`,
    ]);
    const path = '/api/v1/clusters/spoiled';
    expect(traffic.faultsOf(read({}, { method: 'DELETE', path, status: 204 }))).toEqual([
      'there is a body where none is documented',
    ]);
  });

  it('finds an error that the operation is not said to answer with', () => {
    const error = { error: 'precondition_failed', message: 'no', requestId: 'req-1' };
    expect(traffic.faultsOf(read(error, { status: 412 }))).toEqual(['the status 412 is not documented']);
    expect(traffic.faultsOf(read(error, { status: 404 })).join('\n')).toContain('/error');
    expect(traffic.faultsOf(read({ ...error, error: 'not_found' }, { status: 404 }))).toEqual([]);
  });

  it('finds what was accepted and is not documented: of a body, and of a query', () => {
    const change = { method: 'PATCH', requestBody: { colour: 'red' } };
    expect(traffic.faultsOf(read(cluster, change)).join('\n')).toContain('the request: /colour');
    expect(traffic.faultsOf(read(cluster, { path: '/api/v1/clusters/spoiled?deep=true' }))).toEqual([
      'the query has deep, which is not documented',
    ]);
  });

  it('finds an answer at a place that is in no document', () => {
    expect(traffic.faultsOf(read({}, { path: '/api/v1/secrets' }))).toEqual([
      'there is no GET /api/v1/secrets in the document',
    ]);
    expect(traffic.faultsOf(read({}, { path: '/api/v1/secrets', status: 404 }))).toEqual([]);
  });

  it('fails the call that got such an answer, with the place of the fault', () => {
    expect(() => traffic.check(read({ ...cluster, color: 'red' }))).toThrow(
      /GET \/api\/v1\/clusters\/spoiled → 200 is not as \/openapi.json says:\nthe answer: .*color/,
    );
  });
});
