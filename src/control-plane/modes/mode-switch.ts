import { Type, type Static } from 'typebox';
import { compileParser } from '../../protocol/parse.ts';
import { SwitchProbe } from '../push/switch-probe.ts';
import { SWITCH_STATES } from '../store/mode-rows.ts';
import type { ClusterRow, ModeSwitchRow, SwitchState } from '../store/schema.ts';

/** What was asked for beside the mode; nothing secret. */
export const SwitchOptions = Type.Object({
  /** Open proposals are closed at the fence and their intents end `superseded`; without it they stand against the switch. */
  closeProposals: Type.Optional(Type.Boolean()),
  /** To gitops: where it reads from and how changes are reviewed; what is left out is what the cluster had before. */
  git: Type.Optional(
    Type.Object({
      repositoryId: Type.Optional(Type.String()),
      review: Type.Optional(Type.Union([Type.Literal('direct'), Type.Literal('proposal')])),
    }),
  ),
});
export type SwitchOptions = Static<typeof SwitchOptions>;

/** A state that the switch came to, when (ISO 8601), and why. */
export const SwitchStep = Type.Object({
  state: Type.Unsafe<SwitchState>({ type: 'string', enum: [...SWITCH_STATES] }),
  at: Type.String(),
  message: Type.String(),
});
export type SwitchStep = Static<typeof SwitchStep>;

/** What becomes, or became, of a credential. */
export const CredentialChange = Type.Object({
  /** `push`, `git-read`, … */
  kind: Type.String(),
  name: Type.String(),
  change: Type.Union([
    Type.Literal('created'),
    Type.Literal('kept'),
    Type.Literal('revoked'),
    Type.Literal('withdrawn'),
  ]),
  at: Type.Optional(Type.String()),
  message: Type.String(),
});
export type CredentialChange = Static<typeof CredentialChange>;

/** An object that is not handed over: it stays in the cluster as it is. */
export const ObjectLeft = Type.Object({
  kind: Type.String(),
  namespace: Type.String(),
  name: Type.String(),
  reason: Type.String(),
  /** Of its intent that was under way: it is delivered anew once the switch is over. */
  intentId: Type.Optional(Type.String()),
});
export type ObjectLeft = Static<typeof ObjectLeft>;

/** Of the cluster before the switch, to go back to. */
export const BeforeSwitch = Type.Object({
  repository_id: Type.Union([Type.String(), Type.Null()]),
  git_directory: Type.Union([Type.String(), Type.Null()]),
  git_settings: Type.Union([Type.String(), Type.Null()]),
  desired_revision: Type.Union([Type.String(), Type.Null()]),
  trusted_revision: Type.Union([Type.String(), Type.Null()]),
  /** The epoch that was last raised for it. */
  fenced: Type.Optional(Type.Integer()),
  /** Something may have been written by the new way: nothing goes by the old one until the operator has left the new one. */
  delivered: Type.Optional(Type.Boolean()),
});
export type BeforeSwitch = Static<typeof BeforeSwitch>;

const parseOptions = compileParser(SwitchOptions);
const parseSteps = compileParser(Type.Array(SwitchStep));
const parseProbes = compileParser(Type.Array(SwitchProbe));
const parseCredentials = compileParser(Type.Array(CredentialChange));
const parseLeft = compileParser(Type.Array(ObjectLeft));
const parseBefore = compileParser(BeforeSwitch);

export function optionsOf(row: Pick<ModeSwitchRow, 'options'>): SwitchOptions {
  return parseOptions(JSON.parse(row.options));
}

/** The oldest first. */
export function stepsOf(row: Pick<ModeSwitchRow, 'steps'>): SwitchStep[] {
  return parseSteps(JSON.parse(row.steps));
}

/** What the last probe found; empty before the first. */
export function probesOf(row: Pick<ModeSwitchRow, 'probes'>): SwitchProbe[] {
  return row.probes === null ? [] : parseProbes(JSON.parse(row.probes));
}

export function credentialsOf(row: Pick<ModeSwitchRow, 'credentials'>): CredentialChange[] {
  return row.credentials === null ? [] : parseCredentials(JSON.parse(row.credentials));
}

export function objectsLeftOf(row: Pick<ModeSwitchRow, 'objects_left'>): ObjectLeft[] {
  return row.objects_left === null ? [] : parseLeft(JSON.parse(row.objects_left));
}

/** Undefined before the fence, unless it began while an earlier switch was going back. */
export function beforeOf(row: Pick<ModeSwitchRow, 'before'>): BeforeSwitch | undefined {
  return row.before === null ? undefined : parseBefore(JSON.parse(row.before));
}

/** The cluster's columns that a switch to gitops changes. */
export function settingsBefore(cluster: ClusterRow): BeforeSwitch {
  const { repository_id, git_directory, git_settings, desired_revision, trusted_revision } = cluster;
  return { repository_id, git_directory, git_settings, desired_revision, trusted_revision };
}

/** Nothing more becomes of it. */
export function isOver({ state }: Pick<ModeSwitchRow, 'state'>): boolean {
  return state === 'active' || state === 'rolled-back';
}

export { SwitchProbe } from '../push/switch-probe.ts';
