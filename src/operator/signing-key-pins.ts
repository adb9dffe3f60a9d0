import type { AgentConfig } from '../protocol/agent-config.ts';
import { canonicalJson } from '../protocol/canonical-json.ts';
import type { Condition } from '../protocol/condition.ts';
import type { PublicJwk } from '../protocol/register.ts';
import type { ClusterStatus } from '../resources/cluster.ts';
import { findCondition } from '../resources/conditions.ts';
import { Reason } from '../resources/reasons.ts';
import type { Credentials } from './credentials.ts';
import { decideKeys, plainKeys, readJwks } from './signing-keys.ts';

/** The control plane's signing keys that count, the current one first, as they stand in the status. */
export function acceptedKeys({ signingKeys, odooPublicKey }: ClusterStatus): readonly PublicJwk[] {
  // A status of before there was a list has the current key alone.
  const texts = signingKeys?.accepted ?? (odooPublicKey === undefined ? [] : [odooPublicKey]);
  return texts.flatMap(readJwks);
}

/** What a registration pins anew; undefined where the status goes back to this very registration already. */
export function pinsOf(credentials: Credentials, status: ClusterStatus): Partial<ClusterStatus> | undefined {
  const [registration] = credentials.spentTokens;
  const { signingKeys: keys } = credentials;
  if (keys === undefined || registration === undefined || status.signingKeys?.registration === registration) {
    return undefined;
  }
  return statusOf(keys, registration);
}

/** What the keys that `/config` names mean: which count from now on, and whether there is one to be warned of. */
export function followKeys(
  status: ClusterStatus,
  config: Pick<AgentConfig, 'signing_public_keys' | 'signing_key_endorsements'>,
): { readonly change: Partial<ClusterStatus>; readonly condition?: Omit<Condition, 'lastTransitionTime'> } {
  const { keys } = config.signing_public_keys;
  const decision = decideKeys(acceptedKeys(status), { keys, endorsements: config.signing_key_endorsements ?? [] });
  const change = statusOf(decision.accepted, status.signingKeys?.registration);
  const type = 'SigningKeyTrusted';
  if (decision.refused.length > 0) {
    const names = decision.refused.map(({ kid = 'without a kid' }) => JSON.stringify(kid.slice(0, 64))).join(', ');
    const message = `The control plane names a signing key (${names}) that none of the keys pinned here has endorsed, so nothing that it signs counts; what was pinned goes on counting. If the control plane lost its keys, register this cluster again with a fresh token (service-operator register --token-file=<file>), which pins its keys anew. If nobody knows of it, take it for an attack.`;
    return { change, condition: { type, status: 'False', reason: Reason.SigningKeyNotTrusted, message } };
  }
  if (findCondition(status.conditions, type)?.status !== 'False') return { change };
  const message = 'Every signing key that the control plane names is pinned or endorsed by one that was.';
  return { change, condition: { type, status: 'True', reason: Reason.SigningKeysAccepted, message } };
}

function statusOf(keys: readonly PublicJwk[], registration: string | undefined): Partial<ClusterStatus> {
  const accepted = plainKeys(keys).map((key) => canonicalJson(key));
  const [current] = accepted;
  return {
    signingKeys: { ...(registration === undefined ? {} : { registration }), accepted },
    ...(current === undefined ? {} : { odooPublicKey: current }),
  };
}
