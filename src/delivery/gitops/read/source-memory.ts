import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';

/** One commit of a branch, for one directory of it. */
export const SourceLine = Type.Object({
  url: Type.String(),
  branch: Type.String(),
  path: Type.String(),
  commit: Type.String({ minLength: 1 }),
});
export type SourceLine = Static<typeof SourceLine>;

/** What must be known of the source for as long as what came from it is applied: it stands with the inventory. */
export const SourceMemory = Type.Object({
  /** What is applied stands on this commit; whatever does not go on from it is another history. */
  line: Type.Optional(SourceLine),
  /** Files that had vanished by the last reading that was taken for whole: they are reported already. */
  gone: Type.Array(Type.String()),
  /** RFC 3339, of the last acceptance: what went before it is not counted with what goes now. */
  countsFrom: Type.Optional(Type.String()),
  /** What a person has accepted and may not have gone yet: these objects, for this revision. */
  granted: Type.Optional(Type.Object({ revision: Type.String(), uids: Type.Array(Type.String()) })),
  /** Given while nothing was pruned: good for nothing as long as it stands. */
  void: Type.Optional(Type.Array(Type.String())),
});
export type SourceMemory = Static<typeof SourceMemory>;

/** Where the memory lies: in the cluster, and never in a copy, which is thrown away. */
export interface SourceMemoryStore {
  readonly read: () => string | undefined;
  /** Counts at once, and is written with what is applied. */
  readonly write: (text: string) => void;
}

const schema = Compile(SourceMemory);

/** One that cannot be read is one that is lost: nothing then goes on from anything. */
export function readSourceMemory({ read }: SourceMemoryStore): SourceMemory {
  try {
    const value: unknown = JSON.parse(read() ?? '{}');
    return schema.Check(value) ? value : { gone: [] };
  } catch {
    return { gone: [] };
  }
}

export function isSamePlace(a: Omit<SourceLine, 'commit'>, b: Omit<SourceLine, 'commit'>): boolean {
  return a.url === b.url && a.branch === b.branch && a.path === b.path;
}
