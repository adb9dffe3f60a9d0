import { readFileSync } from 'node:fs';

/** The version of both programs and of the package, which are released as one. */
export const PROJECT_VERSION: string = readVersion();

/** `package.json` lies two folders up from here, in the sources as in `dist/`. */
function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { readonly version: string };
  return version;
}
