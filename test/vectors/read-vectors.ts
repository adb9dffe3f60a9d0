import { readFileSync } from 'node:fs';

/** Reads one file of vectors. They are data for other languages too, so their shape is stated at the place of use. */
export function readVectors<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`./${name}.json`, import.meta.url), 'utf8')) as T;
}
