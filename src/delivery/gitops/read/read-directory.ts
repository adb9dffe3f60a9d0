import { parseManifest, parseTombstone } from '../../../intent/manifest.ts';
import { MAX_MANIFEST_BYTES } from '../../../intent/rendered.ts';
import { Reason } from '../../../resources/reasons.ts';
import type { DesiredItem, Removal, SourceFault } from '../../delivery.ts';
import type { TreeEntry } from './git-output.ts';
import {
  APPS_FOLDER,
  manifestPathFor,
  OPERATIONS_FOLDER,
  parseLayoutPath,
  TOMBSTONES_FOLDER,
  type LayoutEntry,
} from '../layout.ts';

/** What one file of a cluster's directory says. */
export type FileReading =
  | { readonly kind: 'object'; readonly item: DesiredItem }
  | { readonly kind: 'removal'; readonly removal: Removal }
  | { readonly kind: 'fault'; readonly fault: SourceFault };

/** A file that must be read, or the fault that its place or nature alone is. */
export type DirectoryFile =
  | {
      readonly kind: 'file';
      readonly key: string;
      readonly id: string;
      readonly place: Exclude<LayoutEntry, { kind: 'readme' }>;
    }
  | { readonly kind: 'fault'; readonly key: string; readonly fault: SourceFault };

const OUR_FOLDERS: readonly string[] = [APPS_FOLDER, OPERATIONS_FOLDER, TOMBSTONES_FOLDER];

/**
 * Which entries of a listing are ours to read, by their path from the cluster's directory (`prefix`, with its slash). What
 * lies in our folders and is not where a manifest or a tombstone stands is a fault; anything else is a person's own file. But
 * not in a folder that can only be one of ours by a slip: what was moved there has not vanished.
 */
export function directoryFiles(entries: readonly TreeEntry[], prefix: string): readonly DirectoryFile[] {
  const files: DirectoryFile[] = [];
  const slips = new Map<string, { readonly ours: string; readonly first: string; count: number }>();
  for (const { mode, type, id, path } of entries) {
    if (!path.startsWith(prefix) || type === 'tree') continue;
    const key = path.slice(prefix.length);
    const place = parseLayoutPath(key);
    const [folder = ''] = key.split('/');
    if (place?.kind === 'readme') continue;
    if (!OUR_FOLDERS.includes(folder)) {
      const ours = slipOf(key);
      if (ours === undefined) continue;
      const slip = slips.get(folder) ?? { ours, first: key, count: 0 };
      slip.count += 1;
      slips.set(folder, slip);
      continue;
    }
    if (mode === '120000' || type !== 'blob') {
      const nature = mode === '120000' ? 'a symbolic link' : 'a submodule';
      files.push(
        faultAt(key, Reason.ManifestRefused, `${key}: is ${nature}, which is never followed; write the file itself`),
      );
    } else if (place === undefined) {
      const expected = key.startsWith(`${TOMBSTONES_FOLDER}/`) ? '<namespace>/<name>.json' : '<namespace>/<name>.yaml';
      files.push(faultAt(key, Reason.ManifestRefused, `${key}: is not at ${folder}/${expected}, so it is not read`));
    } else {
      files.push({ kind: 'file', key, id, place });
    }
  }
  const faults = [...slips].map(([folder, { ours, first, count }]) => {
    const named = count === 1 ? first : `${first} and ${count - 1} more`;
    const message = `${folder}: is not ${ours}, so what is in it is not read (${named}); rename it to ${ours}, or to what nobody takes for that`;
    return faultAt(folder, Reason.ManifestRefused, message);
  });
  return [...faults, ...files];
}

/** The folder of ours that this file would lie in but for the case of a letter or one letter: `Apps/`, `app/`. */
function slipOf(key: string): string | undefined {
  const [folder = '', ...rest] = key.split('/');
  return OUR_FOLDERS.find(
    (ours) => isOneEditAway(folder.toLowerCase(), ours) && parseLayoutPath([ours, ...rest].join('/')) !== undefined,
  );
}

/** The same, or one letter more, less, another, or two that changed places. */
function isOneEditAway(a: string, b: string): boolean {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  const [restA, restB] = [a.slice(at), b.slice(at)];
  if (restA.slice(1) === restB.slice(1) || restA.slice(1) === restB || restA === restB.slice(1)) return true;
  return restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2);
}

/** Reads one file. `content` is its bytes, or its size where that is over the limit. Never throws. */
export function readDirectoryFile(
  { key, place }: Pick<Extract<DirectoryFile, { kind: 'file' }>, 'key' | 'place'>,
  content: Buffer | number,
): FileReading {
  if (typeof content === 'number') {
    const message = `${key}: the file is ${content} bytes; at most ${MAX_MANIFEST_BYTES} bytes (512 KiB) are taken`;
    return { kind: 'fault', fault: { key, reason: Reason.ManifestInvalid, message } };
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    return { kind: 'fault', fault: { key, reason: Reason.ManifestInvalid, message: `${key}: is not UTF-8 text` } };
  }
  return place.kind === 'tombstone' ? readTombstone(key, place, text) : readManifest(key, text);
}

function readManifest(key: string, text: string): FileReading {
  const parsed = parseManifest(text, key);
  if (!parsed.ok) return { kind: 'fault', fault: { key, reason: parsed.reason, message: parsed.message } };
  const { kind, metadata } = parsed.object;
  const proper = manifestPathFor({ kind, namespace: metadata.namespace ?? '', name: metadata.name });
  if (proper !== key) {
    const message = `${key}: holds ${kind} ${metadata.namespace ?? ''}/${metadata.name}, whose place is ${proper}`;
    return { kind: 'fault', fault: { key, reason: Reason.ManifestRefused, message } };
  }
  return { kind: 'object', item: { key, object: parsed.object } };
}

function readTombstone(
  key: string,
  place: { readonly namespace: string; readonly name: string },
  text: string,
): FileReading {
  const parsed = parseTombstone(text, key);
  if (!parsed.ok) return { kind: 'fault', fault: { key, reason: parsed.reason, message: parsed.message } };
  const { namespace, name } = parsed.tombstone;
  if (namespace !== place.namespace || name !== place.name) {
    const message = `${key}: names ${namespace}/${name}, whose place is ${TOMBSTONES_FOLDER}/${namespace}/${name}.json`;
    return { kind: 'fault', fault: { key, reason: Reason.ManifestRefused, message } };
  }
  return { kind: 'removal', removal: { key, tombstone: parsed.tombstone } };
}

function faultAt(key: string, reason: Reason, message: string): DirectoryFile {
  return { kind: 'fault', key, fault: { key, reason, message } };
}
