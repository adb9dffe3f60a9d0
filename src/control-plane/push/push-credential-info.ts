import { Type, type Static } from 'typebox';
import { Timestamp } from '../../protocol/condition.ts';
import { compileParser } from '../../protocol/parse.ts';
import type { PushCredentialRow } from '../store/mode-rows.ts';
import { SwitchProbe } from './switch-probe.ts';

/** `push_credentials.info`: nothing secret. */
export const PushCredentialInfo = Type.Object({
  /** Who it says it is: `system:serviceaccount:<namespace>:<name>`, the certificate's common name, or the kubeconfig's user. */
  user: Type.String(),
  /** What proves it. */
  proof: Type.Array(Type.Union([Type.Literal('token'), Type.Literal('client-certificate')])),
  /** The service account of its token. */
  account: Type.Optional(Type.Object({ namespace: Type.String(), name: Type.String() })),
  /** Whether the server's certificate is verified by a root of the kubeconfig, not by the system's. */
  ownCa: Type.Boolean(),
  /** Origin of the proxy on the way, without credentials. */
  proxy: Type.Optional(Type.String()),
  /** When its token or certificate was issued, as it says itself. */
  issuedAt: Type.Optional(Timestamp),
  /** Whether the account may ask for tokens of its own; absent: nobody has looked yet. */
  renewable: Type.Optional(Type.Boolean()),
});
export type PushCredentialInfo = Static<typeof PushCredentialInfo>;

/** `push_credentials.probe`. */
export const PushProbe = Type.Object({
  at: Timestamp,
  ok: Type.Boolean(),
  /** The server does not take the credential (401): only another one helps. */
  refused: Type.Optional(Type.Boolean()),
  probes: Type.Array(SwitchProbe),
});
export type PushProbe = Static<typeof PushProbe>;

/** `push_credentials.reach`. */
export const PushReach = Type.Object({
  at: Timestamp,
  /**
   * - `ready`: the API server is this cluster's and takes the credential
   * - `failing`: it cannot be reached, refuses, or is not this cluster's; the message says which
   * - `refused`: it does not take the credential (401)
   */
  state: Type.Union([Type.Literal('ready'), Type.Literal('failing'), Type.Literal('refused')]),
  message: Type.String(),
  /** It is another cluster's: nothing is written by any replica before a proof says otherwise. */
  other: Type.Optional(Type.Boolean()),
});
export type PushReach = Static<typeof PushReach>;

const parseReach = compileParser(PushReach);
const parseInfo = compileParser(PushCredentialInfo);
const parseProbe = compileParser(PushProbe);

export function infoOf(row: Pick<PushCredentialRow, 'info'>): PushCredentialInfo {
  return parseInfo(JSON.parse(row.info));
}

export function probeOf(row: Pick<PushCredentialRow, 'probe'>): PushProbe | undefined {
  return row.probe === null ? undefined : parseProbe(JSON.parse(row.probe));
}

export function reachOf(row: Pick<PushCredentialRow, 'reach'>): PushReach | undefined {
  return row.reach === null ? undefined : parseReach(JSON.parse(row.reach));
}
