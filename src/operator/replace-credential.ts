import { decodeProtectedHeader } from 'jose';
import { RecoverResponse, RotateResponse } from '../protocol/credentials.ts';
import { decryptWith, JweError } from '../protocol/jwe.ts';
import { compileParser } from '../protocol/parse.ts';
import type { PublicJwk } from '../protocol/register.ts';
import { Secret } from '../runtime/secret.ts';
import type { AgentAnswer } from './agent-answer.ts';
import type { AgentClient, AgentIdentity } from './agent-client.ts';
import { AGENT_PATHS } from './agent-paths.ts';

/** A credential as the control plane gave it, not saved yet. */
export interface GrantedCredential {
  readonly token: Secret;
  readonly expiresAt: string;
  readonly rotateAfter: string;
  readonly clientCertificate?: string;
}

export type ReplacementOutcome =
  | { readonly state: 'granted'; readonly granted: GrantedCredential }
  /** Asking again would be answered the same; the status is the control plane's. */
  | { readonly state: 'refused'; readonly answer: Extract<AgentAnswer, { readonly state: 'refused' }> }
  /** It came, and this cluster's keys do not open it. */
  | { readonly state: 'sealed'; readonly message: string }
  | { readonly state: 'unavailable'; readonly message: string; readonly retryAfterMs?: number };

const parseRotated = compileParser(RotateResponse);
const parseRecovered = compileParser(RecoverResponse);

/** Asks for the next credential with the present one. Rejects only when aborted. */
export async function rotateCredential(
  client: AgentClient,
  identity: AgentIdentity,
  parts: { readonly csr?: string; readonly publicKey?: PublicJwk },
  signal: AbortSignal,
): Promise<ReplacementOutcome> {
  const { csr, publicKey } = parts;
  const body = {
    ...(csr === undefined ? {} : { csr }),
    ...(publicKey === undefined ? {} : { public_key: publicKey }),
  };
  const answer = await client.call({ method: 'POST', path: AGENT_PATHS.rotate, body }, identity, signal);
  return await outcomeOf(answer, async (text) => {
    const { token, expires_at: expiresAt, rotate_after: rotateAfter, client_certificate: cert } = parseRotated(text);
    const certificate = cert === undefined ? {} : { clientCertificate: cert };
    return { token: new Secret(token), expiresAt, rotateAfter, ...certificate };
  });
}

/**
 * Asks for a credential without having one: it comes encrypted to the cluster's registered key. Rejects only when aborted.
 *
 * @param ring private JWKs as JSON, the current one first
 */
export async function recoverCredential(
  client: AgentClient,
  clusterId: string,
  ring: readonly Secret[],
  signal: AbortSignal,
): Promise<ReplacementOutcome> {
  const body = { cluster_id: clusterId };
  const answer = await client.call({ method: 'POST', path: AGENT_PATHS.recover, body }, undefined, signal);
  return await outcomeOf(answer, async (text) => {
    const { token_jwe: jwe, expires_at: expiresAt, rotate_after: rotateAfter } = parseRecovered(text);
    return { token: await decryptWith(ring, jwe, audienceOf(jwe, clusterId)), expiresAt, rotateAfter };
  });
}

/** Sealed for another use, where it says for which: it is not taken for a credential. */
function audienceOf(jwe: string, clusterId: string): { readonly audience?: string } {
  try {
    return decodeProtectedHeader(jwe)['aud'] === undefined ? {} : { audience: `${clusterId}/credentials` };
  } catch {
    return {};
  }
}

async function outcomeOf(
  answer: AgentAnswer,
  read: (body: unknown) => Promise<GrantedCredential>,
): Promise<ReplacementOutcome> {
  switch (answer.state) {
    case 'refused':
      return { state: 'refused', answer };
    case 'unavailable': {
      const { message, retryAfterMs } = answer;
      return { state: 'unavailable', message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    }
    case 'ok':
      try {
        return { state: 'granted', granted: await read(answer.body) };
      } catch (error) {
        const { message } = error as Error;
        if (error instanceof JweError) return { state: 'sealed', message };
        return { state: 'unavailable', message: `the new credential cannot be read: ${message}` };
      }
  }
}
