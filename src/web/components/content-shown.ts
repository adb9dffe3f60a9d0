let isMarked = false;

/** Marks, once a tab, when a view first shows what it was opened for: how fast the page is, for a test and a profiler. */
export function contentShown(): void {
  if (isMarked) return;
  isMarked = true;
  performance.mark('content-shown');
}
