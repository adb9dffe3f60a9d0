import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface GeneratedFolders {
  /** As messages name it: `crds`. */
  readonly name: string;
  readonly directory: string;
  /** Folders of it that hold generated files and nothing else of their ending; '' is the directory itself. */
  readonly folders: readonly string[];
  readonly ending: string;
  /** Text by path below the directory. */
  readonly wanted: ReadonlyMap<string, string>;
}

/**
 * Writes what is wanted and removes what belongs to nothing any more; with `isCheck` writes nothing.
 *
 * @returns the exit status: 1 where a check finds a difference, whose first line it prints for each file
 */
export function bringAbout(generated: GeneratedFolders, isCheck: boolean): number {
  const { name, directory, folders, wanted } = generated;
  for (const folder of folders) mkdirSync(join(directory, folder), { recursive: true });
  const found = existing(generated);
  const drift = differences(wanted, found);
  if (isCheck) {
    for (const line of drift) console.error(`${name}/${line}`);
    if (drift.length > 0) console.error(`Run \`npm run generate\` and commit ${name}/.`);
    return drift.length > 0 ? 1 : 0;
  }
  for (const [file, text] of wanted) writeFileSync(join(directory, file), text);
  for (const file of found.keys()) {
    if (!wanted.has(file)) rmSync(join(directory, file));
  }
  console.log(drift.length === 0 ? `${name}/ is up to date` : `${name}/: ${drift.length} files written`);
  return 0;
}

function existing({ directory, folders, ending }: GeneratedFolders): Map<string, string> {
  const names = folders.flatMap((folder) =>
    readdirSync(join(directory, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
      .map((entry) => join(folder, entry.name)),
  );
  return new Map(names.map((name) => [name, readFileSync(join(directory, name), 'utf8')]));
}

function differences(wanted: ReadonlyMap<string, string>, found: ReadonlyMap<string, string>): string[] {
  const names = [...new Set([...wanted.keys(), ...found.keys()])].sort();
  return names.flatMap((name) => {
    const [want, have] = [wanted.get(name), found.get(name)];
    if (want === have) return [];
    if (have === undefined) return [`${name}: missing`];
    if (want === undefined) return [`${name}: belongs to no definition`];
    const [wantLines, haveLines] = [want.split('\n'), have.split('\n')];
    const at = wantLines.findIndex((line, index) => line !== haveLines[index]);
    const line = at === -1 ? wantLines.length : at;
    return [`${name}:${line + 1}: has '${haveLines[line] ?? ''}', generated is '${wantLines[line] ?? ''}'`];
  });
}
