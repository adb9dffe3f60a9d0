import { newId } from '../protocol/ids.ts';
import { hashToken, mintToken } from '../protocol/token.ts';
import type { Secret } from '../runtime/secret.ts';
import { intervalsOf } from './cluster-settings.ts';
import { AGENT_CREDENTIAL_LIFETIME_MS, type NewAgentCredential } from './store/agent-credentials.ts';
import type { ClusterRow } from './store/schema.ts';

/** A rotation is due after this share of the interval at the earliest, the rest is jitter: a fleet that registered in one hour must not rotate in one. */
const EARLIEST_ROTATION = 0.7;
/** However long the interval, a rotation comes well before the credential's end. */
const LATEST_ROTATION_MS = AGENT_CREDENTIAL_LIFETIME_MS * 0.8;

export interface MintDeps {
  readonly randomBytes: (n: number) => Uint8Array;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/** A credential as it is handed out, this once, and the row that knows its token by the hash only. */
export interface MintedCredential {
  readonly token: Secret;
  readonly row: NewAgentCredential;
}

/** The one place where agent credentials are made, whatever they are made for: registration, rotation, recovery. */
export function mintAgentCredential(
  deps: MintDeps,
  cluster: Pick<ClusterRow, 'id' | 'intervals'>,
  now: Date,
  use: Pick<NewAgentCredential, 'origin' | 'replaces'>,
): MintedCredential {
  const token = mintToken('svcagt', deps.randomBytes);
  return {
    token,
    row: {
      id: newId('cred', now, deps.randomBytes),
      cluster_id: cluster.id,
      token_hash: hashToken(token.expose()),
      issued_at: now.toISOString(),
      rotate_after: new Date(now.getTime() + rotationMs(deps, cluster)).toISOString(),
      expires_at: new Date(now.getTime() + AGENT_CREDENTIAL_LIFETIME_MS).toISOString(),
      ...use,
    },
  };
}

function rotationMs({ random }: Pick<MintDeps, 'random'>, cluster: Pick<ClusterRow, 'intervals'>): number {
  const interval = intervalsOf(cluster).rotate_seconds * 1000;
  const jittered = interval * (EARLIEST_ROTATION + (1 - EARLIEST_ROTATION) * random());
  return Math.round(Math.min(jittered, LATEST_ROTATION_MS));
}
