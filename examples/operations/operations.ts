import type { Stage } from '../first-app/stage.ts';
import type { Example } from '../run-example.ts';
import { DayTwo, type Told } from './day-two.ts';
import { setStage } from './stage.ts';

const USAGE = `npm run demo -- --scenario operations [--json]

A control plane, a sandbox cluster and its operator, each a process of its own, with stand-ins for Velero and for the
controllers of workloads. A backup; a restore that somebody else must approve; a restart; a scale; a job that is cancelled;
one that misses its deadline. What the audit and the discussion channel tell of it is compared whole with what they should.
Everything listens on 127.0.0.1 and is gone at the end (there is no --keep here: npm run demo -- --keep leaves the first
example running).

  --json   print one JSON object and nothing else`;

export const OPERATIONS: Example<Stage, Told> = {
  name: 'operations',
  usage: USAGE,
  setStage,
  summary: () =>
    '\nWhat to try next: npm run sandbox -- --velero (a cluster that stays), docs/day-two.md (the same by servicectl).\n',
  play: async (stage, progress) => await new DayTwo({ stage, progress }).run(),
};
