import { readdirSync, readFileSync } from 'node:fs';

const EVERY_MS = 10;

/** The command lines of every process that this one starts, directly or not, while it is watched: anybody can read those. */
export function watchArguments(): Disposable & { readonly seen: ReadonlySet<string> } {
  const seen = new Set<string>();
  const timer = setInterval(() => {
    for (const line of commandLines()) seen.add(line);
  }, EVERY_MS);
  return { seen, [Symbol.dispose]: () => clearInterval(timer) };
}

function commandLines(): readonly string[] {
  const parents = new Map<number, number>();
  for (const entry of readdirSync('/proc')) {
    const parent = /^\d+$/.test(entry) ? parentOf(entry) : undefined;
    if (parent !== undefined) parents.set(Number(entry), parent);
  }
  const isOurs = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at)) {
      if (at === process.pid) return true;
    }
    return false;
  };
  return [...parents.keys()].filter(isOurs).flatMap((pid) => read(`/proc/${pid}/cmdline`) ?? []);
}

function parentOf(pid: string): number | undefined {
  // The name of a program may hold anything, but the last bracket ends it.
  const rest = read(`/proc/${pid}/stat`)?.split(') ').at(-1);
  return rest === undefined ? undefined : Number(rest.split(' ')[1]);
}

/** Undefined for a process that ended meanwhile. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').replaceAll('\0', ' ');
  } catch {
    return undefined;
  }
}
