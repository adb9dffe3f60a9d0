/** A line of a file, and the commit that brought it. */
export interface BlamedLine {
  readonly commit: string;
  readonly text: string;
}

/**
 * Reads the output of `git blame --porcelain`: before each line a header that names its commit, then what is known of the
 * commit when it is met first, then the line itself behind a tab.
 */
export function parseBlame(output: string): BlamedLine[] {
  const lines: BlamedLine[] = [];
  let commit = '';
  for (const line of output.split('\n')) {
    if (line.startsWith('\t')) lines.push({ commit, text: line.slice(1) });
    else commit = /^([0-9a-f]{40}) \d+ \d+/.exec(line)?.[1] ?? commit;
  }
  return lines;
}
