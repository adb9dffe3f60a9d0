import { deriveHmacKey, signRequest } from '../../../src/protocol/hmac.ts';
import { AGENT_MEDIA_TYPE } from '../../../src/protocol/media-type.ts';
import type { RegisterResponse } from '../../../src/protocol/register.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { Answer, RunningControlPlane } from '../running-control-plane.ts';

/** A registered operator's side of a running control plane. */
export interface RunningAgent {
  readonly id: string;
  readonly registration: RegisterResponse;
  readonly get: (path: string) => Promise<Answer>;
  /** A signed post. */
  readonly post: (path: string, body: unknown) => Promise<Answer>;
}

/** Registers an operator with a fresh token of the cluster. */
export async function registerAgent(
  plane: RunningControlPlane,
  cluster: string,
  body: Readonly<Record<string, unknown>> = {},
): Promise<RunningAgent> {
  const issued = await plane.call('POST', `/clusters/${cluster}/registration-token`);
  const answer = await registerWith(plane, String(issued.body['registrationToken']), body);
  if (answer.status !== 200) throw new Error(`register: ${answer.status} ${JSON.stringify(answer.body)}`);
  return agentWith(plane, answer.body as RegisterResponse);
}

export async function registerWith(
  plane: RunningControlPlane,
  token: string,
  body: Readonly<Record<string, unknown>> = {},
): Promise<Answer> {
  return await plane.call('POST', '/api/agent/register', { token, ...body }, { token: null });
}

/** The same operator with another credential. */
export function agentWith(plane: RunningControlPlane, registration: RegisterResponse): RunningAgent {
  const { cluster_id: id, token } = registration;
  const accept = { accept: AGENT_MEDIA_TYPE };
  return {
    id,
    registration,
    get: async (path) => await plane.call('GET', path, undefined, { token, headers: accept }),
    post: async (path, body) => {
      const key = deriveHmacKey(new Secret(token), id);
      const signature = signRequest({ key, method: 'POST', path, body, at: new Date() });
      return await plane.call('POST', path, body, { token, headers: { ...accept, 'service-signature': signature } });
    },
  };
}
