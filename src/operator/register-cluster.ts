import { AGENT_PATHS } from './agent-paths.ts';
import type { ErrorCode } from '../protocol/app-error.ts';
import { compileParser } from '../protocol/parse.ts';
import { RegisterResponse, type PublicJwk } from '../protocol/register.ts';
import { Reason } from '../resources/reasons.ts';
import { Secret } from '../runtime/secret.ts';
import type { AgentAnswer } from './agent-answer.ts';
import type { AgentClient } from './agent-client.ts';
import type { NewCredentials } from './credentials.ts';
import { OPERATOR_VERSION } from './operator-version.ts';
import { plainKeys } from './signing-keys.ts';

export type RegisterOutcome =
  | { readonly state: 'registered'; readonly granted: RegisterResponse }
  /** Nothing will change without a person: the token, or the record it belongs to, is refused. */
  | { readonly state: 'refused'; readonly reason: Reason; readonly message: string }
  | {
      readonly state: 'unavailable';
      readonly message: string;
      readonly retryAfterMs?: number;
      readonly answered: boolean;
    };

export interface RegisterRequestParts {
  readonly token: string;
  readonly clusterUid: string;
  readonly publicKey: PublicJwk;
  /** Asks for a client certificate: PKCS #10 as PEM. */
  readonly csr?: string;
}

const parseResponse = compileParser(RegisterResponse);

const FRESH_TOKEN =
  'Issue a fresh token for this cluster (servicectl clusters registration-token <cluster>) and put it into the Secret service-operator-registration under the key token, or set it as spec.registration.token.';

/** Offers the one-time registration token, once. Rejects only when aborted. */
export async function registerCluster(
  client: AgentClient,
  parts: RegisterRequestParts,
  signal: AbortSignal,
): Promise<RegisterOutcome> {
  const body = {
    token: parts.token,
    cluster_uid: parts.clusterUid,
    public_key: parts.publicKey,
    ...(parts.csr === undefined ? {} : { csr: parts.csr }),
    operator_version: OPERATOR_VERSION,
  };
  const answer = await client.call({ method: 'POST', path: AGENT_PATHS.register, body }, undefined, signal);
  switch (answer.state) {
    case 'ok':
      return granted(answer.body);
    case 'refused':
      return refused(answer);
    case 'unavailable': {
      const { message, retryAfterMs, answered } = answer;
      return { state: 'unavailable', message, answered, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    }
  }
}

function granted(body: unknown): RegisterOutcome {
  try {
    return { state: 'registered', granted: parseResponse(body) };
  } catch (error) {
    // The token is spent by now; another try would only be told so.
    return {
      state: 'refused',
      reason: Reason.RegistrationRefused,
      message: `The control plane's answer to the registration cannot be read: ${(error as Error).message}. ${FRESH_TOKEN}`,
    };
  }
}

/** What is to be done about a refusal; `said` is the control plane's own message. */
const REFUSALS: Partial<Record<ErrorCode, { readonly reason: Reason; readonly explain: (said: string) => string }>> = {
  registration_token_used: {
    reason: Reason.RegistrationRefused,
    explain: () =>
      `The registration token has been used already: by another cluster, or by this one if it was stopped before it could save its credential, or if its credential Secret was deleted since. ${FRESH_TOKEN}`,
  },
  registration_token_expired: {
    reason: Reason.RegistrationRefused,
    explain: () => `The registration token has expired. ${FRESH_TOKEN}`,
  },
  invalid_token: {
    reason: Reason.RegistrationRefused,
    explain: () =>
      `The control plane does not know the registration token; look whether it was copied whole and for this control plane. ${FRESH_TOKEN}`,
  },
  cluster_mismatch: {
    reason: Reason.ClusterUidMismatch,
    explain: (said) =>
      `${said}. The record is bound to another cluster: create one for this cluster, or have an admin bind the record anew.`,
  },
  not_found: {
    reason: Reason.ConfigurationInvalid,
    explain: () =>
      'What answers at spec.controlPlaneBaseUrl has no POST /api/agent/register: set it to the address of the control plane, without /api/agent. The token is not spent; it is offered again once the address is changed or the operator is restarted.',
  },
  cluster_disabled: {
    reason: Reason.ClusterDisabled,
    explain: (said) => `${said}. Have an admin enable the cluster, then set a fresh registration token.`,
  },
};

function refused(answer: Extract<AgentAnswer, { readonly state: 'refused' }>): RegisterOutcome {
  const { reason, explain } = REFUSALS[answer.code] ?? {
    reason: Reason.RegistrationRefused,
    explain: (said: string) => `The control plane refused the registration (${answer.code}): ${said}. ${FRESH_TOKEN}`,
  };
  return { state: 'refused', reason, message: explain(answer.message) };
}

/** What is kept of a registration. */
export function credentialsOf(granted: RegisterResponse): Omit<NewCredentials, 'spentTokens'> {
  return {
    token: new Secret(granted.token),
    clusterId: granted.cluster_id,
    expiresAt: granted.expires_at,
    rotateAfter: granted.rotate_after,
    caCertificate: granted.ca_certificate,
    keepsCertificate: false,
    signingKeys: plainKeys(granted.signing_public_keys.keys),
  };
}
