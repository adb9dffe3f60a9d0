import { describe, expect, it } from 'vitest';
import { decideSwitch, type DecidedSwitch, type SwitchFacts } from '../../../src/control-plane/modes/decide-switch.ts';
import { BEFORE, LATER, LIMITS, NOTHING, NOW, READY, REFUSED, switchFacts, switchRow } from './switch-facts.ts';

const DAY_MS = 86_400_000;
const PROBING = { state: 'probing', phase: 'probing' } as const;
const FENCED = { epoch: 2, before: BEFORE };
const FENCING = { state: 'fencing', phase: 'fencing', ...FENCED } as const;
const HANDING = { state: 'handing-over', phase: 'handing-over', ...FENCED } as const;
const CONFIRMING = { state: 'confirming', phase: 'confirming', ...FENCED } as const;
const BACK = { state: 'rolling-back', phase: 'fencing', epoch: 3, before: { ...BEFORE, delivered: true } } as const;
const BACK_HANDING = { ...BACK, phase: 'handing-over' } as const;
const AT_2 = { clusterEpoch: 2, reportedEpoch: 2 };
const AT_3 = { clusterEpoch: 3, reportedEpoch: 3 };
const SILENT = 'nothing was heard of it since noon';

type Row = Partial<DecidedSwitch>;
type Facts = Partial<SwitchFacts>;

/** What it says, what there is, the move; and a part of why, or of what is waited for. */
const TABLE: readonly [name: string, row: Row, facts: Facts, kind: string, why?: string][] = [
  ['looks at the new way', {}, {}, 'probe'],
  [
    'ends before anything was done when it is cancelled',
    { cancelled_by: 'anna' },
    {},
    'roll-back',
    'cancelled by anna',
  ],
  ['ends when what it needs is gone', {}, { obstacle: { lasts: true, why: 'gone' } }, 'roll-back', 'gone'],
  ['ends when proposals are open', {}, { openProposals: ['prop-1'] }, 'roll-back', 'to be proposed (prop-1)'],
  ['goes on when they are to be closed', { options: { closeProposals: true } }, { openProposals: ['prop-1'] }, 'probe'],
  ['goes on with the way back that an earlier one left', { cancelled_by: 'anna', epoch: 5 }, {}, 'go-on-back'],

  ['waits for the first probe', PROBING, {}, 'wait', 'the probe of push mode'],
  ['fences once the probes pass', PROBING, { probes: READY }, 'fence', 'passed its probes'],
  ['ends when a probe fails for good', PROBING, { probes: REFUSED }, 'roll-back', 'rights: no patch'],
  ['waits while it may pass soon', PROBING, { probes: LATER }, 'wait', 'reachable: timed out'],
  ['ends when it does not in time', PROBING, { probes: LATER, contactMs: LIMITS.probeMs }, 'roll-back', '2 minutes'],
  ['fences nothing while the operator is silent', PROBING, { probes: READY, silence: SILENT }, 'wait', SILENT],
  ['fails for good all the same', PROBING, { probes: REFUSED, silence: SILENT }, 'roll-back', 'rights'],
  ['waits for what passes', PROBING, { probes: READY, obstacle: { lasts: false, why: 'layout' } }, 'wait', 'layout'],
  ['ends at proposals opened since', PROBING, { probes: READY, openProposals: ['p'] }, 'roll-back', 'open proposals'],
  ['ends when it is cancelled', { ...PROBING, cancelled_by: 'anna' }, { probes: READY }, 'roll-back', 'cancelled'],
  ['leads back where an earlier one did', { ...PROBING, epoch: 5 }, { probes: REFUSED }, 'go-on-back', 'rights'],

  ['waits for the report', FENCING, { clusterEpoch: 2 }, 'wait', 'report delivery epoch 2'],
  ['says that the operator is silent', FENCING, { clusterEpoch: 2, silence: SILENT }, 'wait', SILENT],
  ['waits for one that never reported', FENCING, { clusterEpoch: 2, reportedEpoch: null }, 'wait', 'epoch 2'],
  [
    'goes back without a report',
    FENCING,
    { clusterEpoch: 2, contactMs: LIMITS.reportMs },
    'fence-back',
    'did not report',
  ],
  ['waits for old work to end', FENCING, { ...AT_2, oldWork: 3 }, 'wait', 'to end: 3'],
  ['ends old work itself', FENCING, { ...AT_2, oldWork: 3, contactMs: LIMITS.drainMs }, 'hand-over'],
  ['hands over', FENCING, AT_2, 'hand-over'],
  ['goes back when it is cancelled', { ...FENCING, cancelled_by: 'anna' }, AT_2, 'fence-back', 'cancelled by anna'],
  ['fences anew above a raised epoch', FENCING, { clusterEpoch: 9, reportedEpoch: 9 }, 'fence', 'from 2 to 9'],

  ['waits for deliveries', HANDING, { ...AT_2, handovers: { ...NOTHING, pending: 2 } }, 'wait', '2 objects'],
  ['has them confirmed', HANDING, { ...AT_2, handovers: { ...NOTHING, delivered: 2 } }, 'confirm'],
  ['has nothing confirmed where nothing is', HANDING, AT_2, 'confirm'],
  [
    'goes back when an object is refused',
    HANDING,
    { ...AT_2, handovers: { ...NOTHING, pending: 1, refused: 1 }, refused: ['shop/web: ApplyConflict'] },
    'fence-back',
    'push mode refused 1 object: shop/web: ApplyConflict',
  ],
  [
    'goes back when deliveries take too long',
    HANDING,
    { ...AT_2, handovers: { ...NOTHING, pending: 1 }, awaited: ['web'], contactMs: LIMITS.handOverMs },
    'fence-back',
    '1 object could not be delivered within 10 minutes: web',
  ],
  ['is not late with all delivered', HANDING, { ...AT_2, contactMs: LIMITS.handOverMs }, 'confirm'],
  ['goes back on a cancel', { ...HANDING, cancelled_by: 'a' }, AT_2, 'fence-back', 'cancelled'],
  ['fences anew in the middle', HANDING, { clusterEpoch: 9, reportedEpoch: 9 }, 'fence', 'from 2 to 9'],

  ['waits for reports', CONFIRMING, { ...AT_2, handovers: { ...NOTHING, delivered: 1 } }, 'wait', 'to report 1 object'],
  [
    'waits for what is brought again',
    CONFIRMING,
    { ...AT_2, handovers: { ...NOTHING, pending: 1 } },
    'wait',
    '1 object',
  ],
  ['waits for Git to be applied', CONFIRMING, { ...AT_2, isRevisionApplied: false }, 'wait', 'apply what Git holds'],
  ['is done', CONFIRMING, { ...AT_2, handovers: { ...NOTHING, confirmed: 2, dropped: 1 } }, 'activate'],
  ['is done late', CONFIRMING, { ...AT_2, contactMs: LIMITS.confirmMs }, 'activate'],
  [
    'goes back without reports in time',
    CONFIRMING,
    { ...AT_2, handovers: { ...NOTHING, delivered: 2 }, awaited: ['web'], contactMs: LIMITS.confirmMs },
    'fence-back',
    '2 objects were not reported by the operator within 10 minutes: web and 1 more',
  ],
  [
    'goes back when Git is not applied in time',
    CONFIRMING,
    { ...AT_2, isRevisionApplied: false, contactMs: LIMITS.confirmMs },
    'fence-back',
    'did not apply what Git holds',
  ],
  [
    'goes back on a late refusal',
    CONFIRMING,
    { ...AT_2, handovers: { ...NOTHING, refused: 1 } },
    'fence-back',
    'refused',
  ],
  ['goes back on a late cancel', { ...CONFIRMING, cancelled_by: 'a' }, AT_2, 'fence-back', 'cancelled'],
  ['fences anew at the end', CONFIRMING, { clusterEpoch: 9, reportedEpoch: 9 }, 'fence', 'from 2 to 9'],

  ['waits for the report on the way back', BACK, { ...AT_3, reportedEpoch: 2 }, 'wait', 'report delivery epoch 3'],
  ['has no limit there', BACK, { ...AT_3, reportedEpoch: 2, contactMs: DAY_MS }, 'wait', 'epoch 3'],
  ['waits for the new way to end', BACK, { ...AT_3, oldWork: 1 }, 'wait', 'to end: 1'],
  ['ends it in time', BACK, { ...AT_3, oldWork: 1, contactMs: LIMITS.drainMs }, 'hand-over'],
  ['delivers by the old way again', BACK, AT_3, 'hand-over'],
  ['waits for nobody where the new way brought nothing', { ...BACK, before: BEFORE }, { clusterEpoch: 3 }, 'hand-over'],
  ['fences the way back anew', BACK, { clusterEpoch: 9, reportedEpoch: 9 }, 'fence-back', 'from 3 to 9'],
  ['is not cancelled any more', { ...BACK, cancelled_by: 'anna' }, { ...AT_3, reportedEpoch: 2 }, 'wait', 'epoch 3'],
  ['waits for the old way', BACK_HANDING, { ...AT_3, handovers: { ...NOTHING, pending: 1 } }, 'wait', 'again'],
  ['is back', BACK_HANDING, { ...AT_3, handovers: { ...NOTHING, delivered: 1, refused: 1 } }, 'roll-back'],
  ['fences that anew too', BACK_HANDING, { clusterEpoch: 9, reportedEpoch: 9 }, 'fence-back'],

  ['is over', { state: 'active', phase: 'over' }, {}, 'over'],
  ['is over, rolled back', { state: 'rolled-back', phase: 'over' }, {}, 'over'],
];

describe('decideSwitch', () => {
  it.each(TABLE.map(([name, row, facts, kind, why]) => ({ name, row, facts, kind, why })))('$name', (entry) => {
    const { row, facts, kind, why } = entry;
    const move = decideSwitch(switchRow(row), switchFacts(facts), NOW, LIMITS);
    expect(move.kind).toBe(kind);
    if (why !== undefined) expect(JSON.stringify(move)).toContain(why);
  });

  it('closes old work that did not end in time, and none where all has ended', () => {
    const late = { ...AT_2, oldWork: 1, contactMs: LIMITS.drainMs };
    const decide = (facts: Facts) => decideSwitch(switchRow(FENCING), switchFacts(facts), NOW, LIMITS);
    expect(decide(late)).toEqual({ kind: 'hand-over', endsOldWork: true });
    expect(decide(AT_2)).toEqual({ kind: 'hand-over', endsOldWork: false });
  });

  it.each([
    ['requested', {}, 'roll-back'],
    ['probing', PROBING, 'roll-back'],
    ['fencing', FENCING, 'fence-back'],
    ['handing-over', HANDING, 'fence-back'],
    ['confirming', CONFIRMING, 'fence-back'],
    ['rolling-back', BACK, 'wait'],
  ] as const)('gives up after thirty days in state %s, unless it goes back already', (_state, row, kind) => {
    const now = new Date(NOW.getTime() + 30 * DAY_MS);
    const facts = switchFacts({ clusterEpoch: row === BACK ? 3 : 2, probes: READY, silence: SILENT });
    const move = decideSwitch(switchRow(row), facts, now, LIMITS);
    expect(move.kind).toBe(kind);
    if (kind !== 'wait') expect(move).toMatchObject({ reason: 'it did not come to an end within 30 days' });
    const before = new Date(now.getTime() - 1);
    expect(decideSwitch(switchRow(row), facts, before, LIMITS)).not.toMatchObject({ reason: expect.any(String) });
  });
});
