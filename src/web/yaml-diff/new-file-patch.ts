/** A text that was not there before, as a unified patch. */
export function newFilePatch(text: string): string {
  const lines = text.replace(/\n$/, '').split('\n');
  return [`@@ -0,0 +1,${lines.length} @@`, ...lines.map((line) => `+${line}`), ''].join('\n');
}
