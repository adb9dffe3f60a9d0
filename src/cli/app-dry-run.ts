import type { GivenValues } from './app-values.ts';
import { faultText } from './app-values.ts';
import type { Hint } from './app-hints.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { Paint } from './colours.ts';
import { printable } from './git-views.ts';
import { neededText } from './needed-text.ts';
import { documentText, isDocument, type OutputOptions } from './output.ts';

/** What would become of an intent. */
export interface DryRun {
  readonly violations: readonly { readonly path: string; readonly message: string; readonly at: string }[];
  readonly warnings?: readonly { readonly path: string; readonly message: string }[];
  readonly approval?: {
    readonly required: { readonly count: number; readonly roles?: Readonly<Record<string, number>> };
    readonly via: string;
  };
  readonly manifest?: string;
  readonly diff?: string;
}

/**
 * Prints the manifest that would be delivered, or everything that it would be refused for.
 *
 * @throws CliError with exit status 1 where it would be refused
 */
export function tellDryRun(
  answer: DryRun,
  { placeOf, hint }: Pick<GivenValues, 'placeOf'> & { readonly hint: Hint },
  { output }: OutputOptions,
  deps: CliDeps,
): void {
  if (isDocument(output)) deps.out(documentText(answer, output));
  else if (answer.violations.length === 0) deps.out(printable(answer.manifest ?? ''));
  tellBesides(answer, deps);
  throwIfRefused(answer, placeOf, hint);
}

/** @throws CliError with every violation, those of values with the place where they were said */
export function throwIfRefused({ violations }: DryRun, placeOf: GivenValues['placeOf'], hint: Hint): void {
  if (violations.length === 0) return;
  const said = violations.map((violation) => {
    const by = violation.at === 'cluster' ? ' (the cluster would refuse it)' : '';
    return `${faultText(violation, placeOf)}${by}`;
  });
  throw new CliError(
    EXIT.failed,
    printable(`it would be refused:\n${said.join('\n')}`),
    hint(violations.map(({ path }) => path)),
  );
}

export function tellBesides(
  { warnings, approval }: Pick<DryRun, 'warnings' | 'approval'>,
  deps: Pick<CliDeps, 'err'>,
): void {
  tellWarnings(warnings, deps);
  if (approval === undefined) return;
  const via = approval.via === 'proposal' ? 'of its proposal' : 'before it is delivered';
  deps.err(printable(`It would wait for approvals ${via}: ${neededText(approval.required)}\n`));
}

export function tellWarnings(warnings: DryRun['warnings'] = [], deps: Pick<CliDeps, 'err'>): void {
  for (const { path, message } of warnings)
    deps.err(printable(`WARNING: ${path === '' ? '' : `${path} `}${message}\n`));
}

/** A unified diff with the colours of one. */
export function paintedDiff(diff: string, paint: Paint): string {
  return diff
    .split('\n')
    .map((raw) => {
      const line = printable(raw);
      if (line.startsWith('+++') || line.startsWith('---')) return paint('bold', line);
      if (line.startsWith('@@')) return paint('dim', line);
      return paint(line.startsWith('+') ? 'good' : line.startsWith('-') ? 'bad' : undefined, line);
    })
    .join('\n');
}
