import type { Finding, Report } from './run-checks.ts';

/** One finding in lines; a failure with what was sent, what came back and what was expected. */
export function printFinding(finding: Finding): string {
  const { verdict, section, heading, sentence, id, why, expected, sent, received } = finding;
  const lines = [`${verdict}  ${heading} (${section}): ${sentence}`];
  if (verdict === 'skip') lines.push(`      ${id}: ${why ?? ''}`);
  if (verdict === 'fail') {
    lines.push(`      ${id}`, `      expected  ${expected ?? ''}`);
    if (sent !== undefined) lines.push(`      sent      ${indent(sent)}`);
    if (received !== undefined) lines.push(`      received  ${indent(received)}`);
  }
  return `${lines.join('\n')}\n`;
}

/** The last lines: counts, and what could not be deleted. */
export function printSummary({ findings, left }: Report): string {
  const count = (verdict: Finding['verdict']): number =>
    findings.filter((finding) => finding.verdict === verdict).length;
  const seconds = findings.reduce((sum, { ms }) => sum + ms, 0) / 1000;
  const counts = `${count('pass')} passed, ${count('fail')} failed, ${count('skip')} skipped in ${seconds.toFixed(1)} s`;
  const leftovers = left.length === 0 ? '' : `left behind, delete by hand: clusters ${left.join(', ')}\n`;
  return `\n${leftovers}${counts}\n`;
}

function indent(text: string): string {
  return text.split('\n').join('\n                ');
}
