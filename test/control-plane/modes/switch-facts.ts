import {
  DEFAULT_SWITCH_LIMITS,
  type DecidedSwitch,
  type SwitchFacts,
} from '../../../src/control-plane/modes/decide-switch.ts';
import type { BeforeSwitch } from '../../../src/control-plane/modes/mode-switch.ts';
import type { TargetProbes } from '../../../src/control-plane/modes/probe-target.ts';

export const LIMITS = DEFAULT_SWITCH_LIMITS;
export const NOW = new Date('2026-11-28T10:00:00.000Z');
export const NOTHING = { pending: 0, delivered: 0, confirmed: 0, refused: 0, dropped: 0 };
export const READY: TargetProbes = { state: 'ready', probes: [{ name: 'repository', ok: true, message: 'fine' }] };
export const LATER: TargetProbes = { state: 'later', probes: [{ name: 'reachable', ok: false, message: 'timed out' }] };
export const REFUSED: TargetProbes = { state: 'refused', probes: [{ name: 'rights', ok: false, message: 'no patch' }] };
export const BEFORE: BeforeSwitch = {
  repository_id: null,
  git_directory: null,
  git_settings: null,
  desired_revision: null,
  trusted_revision: null,
};

/** A switch from pull to push. */
export function switchRow(row: Partial<DecidedSwitch>): DecidedSwitch {
  return {
    state: 'requested',
    phase: 'requested',
    from_mode: 'pull',
    to_mode: 'push',
    epoch: null,
    requested_at: NOW.toISOString(),
    cancelled_by: null,
    options: {},
    before: undefined,
    ...row,
  };
}

/** Of a cluster at its first epoch, in contact, of which nothing is waited for. */
export function switchFacts(facts: Partial<SwitchFacts>): SwitchFacts {
  return {
    silence: undefined,
    contactMs: 0,
    clusterEpoch: 1,
    reportedEpoch: 1,
    probes: undefined,
    openProposals: [],
    obstacle: undefined,
    oldWork: 0,
    handovers: NOTHING,
    heldUp: 0,
    left: 0,
    refused: [],
    awaited: [],
    isRevisionApplied: true,
    ...facts,
  };
}
