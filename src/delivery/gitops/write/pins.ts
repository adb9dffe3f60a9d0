import { objectId } from '../../../git/git-object.ts';
import { findEntry, type FileEdit } from '../../../git/tree-edit.ts';
import type { BlobPin } from '../../delivery.ts';
import type { BlobReader } from './expired-tombstones.ts';

/** What edits of a directory change: paths relative to it, in the edits' order. One that changes nothing is left out. */
export async function pinsOf(
  reader: BlobReader,
  directoryId: string | undefined,
  edits: readonly FileEdit[],
): Promise<readonly BlobPin[]> {
  const pins = edits.map(async ({ path, content }): Promise<BlobPin> => {
    const before = await blobAt(reader, directoryId, path);
    const after = content === undefined ? undefined : objectId('blob', content);
    return { path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
  });
  return (await Promise.all(pins)).filter(({ before, after }) => before !== after);
}

/** Whether the directory holds already all that was approved, however it came there. */
export async function pinsHaveLanded(
  reader: BlobReader,
  directoryId: string | undefined,
  pins: readonly BlobPin[],
): Promise<boolean> {
  return (await pinsStand(reader, directoryId, pins)) === 'landed';
}

/**
 * How the directory stands to a proposal: it holds what would be brought, or still all of what that was rendered from, or
 * something else (`moved`).
 */
export async function pinsStand(
  reader: BlobReader,
  directoryId: string | undefined,
  pins: readonly BlobPin[],
): Promise<'landed' | 'waits' | 'moved'> {
  const standing = await Promise.all(pins.map(async ({ path }) => blobAt(reader, directoryId, path)));
  if (pins.length > 0 && pins.every(({ after }, index) => standing[index] === after)) return 'landed';
  const holds = pins.every(({ before, after }, index) => standing[index] === before || standing[index] === after);
  return holds ? 'waits' : 'moved';
}

/**
 * Why a commit is not what was approved; undefined when it is. Each blob that it changes must be pinned, from what it was
 * to what it becomes. A pin whose `after` stands there already (the README that another proposal has brought) holds too.
 */
export async function pinsDoNotHold(
  reader: BlobReader,
  directoryId: string | undefined,
  approved: readonly BlobPin[],
  planned: readonly BlobPin[],
): Promise<string | undefined> {
  const changes = new Map(planned.map((pin) => [pin.path, pin]));
  for (const pin of approved) {
    const change = changes.get(pin.path);
    changes.delete(pin.path);
    if (change === undefined) {
      if ((await blobAt(reader, directoryId, pin.path)) === pin.after) continue;
      return `${pin.path} would not become what was approved`;
    }
    if (change.before !== pin.before) return `${pin.path} has changed since it was proposed`;
    if (change.after !== pin.after) return `${pin.path} is rendered differently from what was approved`;
  }
  const [unseen] = changes.keys();
  return unseen === undefined ? undefined : `${unseen} would change too, which nobody has approved`;
}

async function blobAt(reader: BlobReader, directoryId: string | undefined, path: string): Promise<string | undefined> {
  return directoryId === undefined ? undefined : (await findEntry(reader, directoryId, path))?.id;
}
