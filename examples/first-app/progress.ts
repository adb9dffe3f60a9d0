/** The ways to a cluster that the demo can go. */
export type DemoMode = 'gitops' | 'pull';

/** The steps of an intent's way, in order, as the demo shows them. */
export const STEPS = {
  gitops: ['accepted', 'committed', 'synced', 'applied', 'released', 'reported'],
  pull: ['accepted', 'queued', 'applied', 'released', 'reported'],
} as const satisfies Record<DemoMode, readonly string[]>;
export type Step = (typeof STEPS)[DemoMode][number];

export interface Progress {
  /** A heading of the run: a program that came up, a part that begins. */
  note(text: string): void;
  /** An intent begins. */
  begin(title: string): void;
  /** A step of the current intent is seen, `ms` milliseconds after it was accepted. */
  step(step: Step, ms: number, detail?: string): void;
  /** The current intent is done; `outcome` is what the control plane says of it. */
  end(outcome: string, good: boolean): void;
}

/** Says nothing: for `--json`. */
export const silentProgress: Progress = { note: () => {}, begin: () => {}, step: () => {}, end: () => {} };

/** One plain line a step, for a pipe or a log. */
export function plainProgress(write: (text: string) => void): Progress {
  let title = '';
  return {
    note: (text) => write(`${text}\n`),
    begin: (next) => {
      title = next;
      write(`\n${title}\n`);
    },
    step: (step, ms, detail) =>
      write(`  ${step.padEnd(10)}${String(ms).padStart(6)} ms${detail === undefined ? '' : `  ${detail}`}\n`),
    end: (outcome, good) => write(`  ${good ? 'ok' : 'NOT AS EXPECTED'}: ${outcome}\n`),
  };
}

const GREEN = '\u001b[32m';
const RED = '\u001b[31m';
const DIM = '\u001b[2m';
const RESET = '\u001b[0m';
const CLEAR_LINE = '\r\u001b[K';

/** For a terminal: each step is a line that is drawn when it happens, and the step waited for shows how long it has been. */
export function terminalProgress(
  write: (text: string) => void,
  nowMs: () => number,
  mode: DemoMode,
): Progress & Disposable {
  const steps: readonly Step[] = STEPS[mode];
  let waitingFor: Step | undefined;
  let since = 0;
  const draw = (): void => {
    if (waitingFor !== undefined)
      write(`${CLEAR_LINE}${DIM}  … ${waitingFor} ${Math.round(nowMs() - since)} ms${RESET}`);
  };
  const timer = setInterval(draw, 80);
  timer.unref();
  return {
    note: (text) => write(`${CLEAR_LINE}${text}\n`),
    begin: (title) => {
      write(`${CLEAR_LINE}\n${title}\n`);
      waitingFor = steps[0];
      since = nowMs();
    },
    step: (step, ms, detail) => {
      write(
        `${CLEAR_LINE}  ${GREEN}✔${RESET} ${step.padEnd(10)}${String(ms).padStart(6)} ms${detail === undefined ? '' : `  ${DIM}${detail}${RESET}`}\n`,
      );
      waitingFor = steps[steps.indexOf(step) + 1];
      draw();
    },
    end: (outcome, good) => {
      waitingFor = undefined;
      write(`${CLEAR_LINE}  ${good ? `${GREEN}✔` : `${RED}✘`} ${outcome}${RESET}\n`);
    },
    [Symbol.dispose]: () => {
      clearInterval(timer);
      write(CLEAR_LINE);
    },
  };
}
