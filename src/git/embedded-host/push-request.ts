import { isObjectId, ZERO_ID } from '../git-object.ts';

/** One `old new ref` line of a push (gitprotocol-pack, "Reference Update Request"). */
export interface PushCommand {
  /** `undefined`: the branch is to be made. */
  readonly oldId: string | undefined;
  /** `undefined`: the branch is to be deleted. */
  readonly newId: string | undefined;
  readonly ref: string;
}

export interface PushRequest {
  readonly commands: readonly PushCommand[];
  readonly capabilities: ReadonlySet<string>;
  /** First bytes of the pack; empty when the body ends with the commands. */
  readonly packHead: Buffer;
}

const MAX_COMMAND_BYTES = 256 * 1024;

/** What a client sent is not a push request. */
export class MalformedPushError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MalformedPushError';
  }
}

/**
 * Reads the commands from the front of a push's body and leaves the iterator at the rest of its pack.
 *
 * @throws {MalformedPushError}
 */
export async function readPushRequest(body: AsyncIterator<Buffer>): Promise<PushRequest> {
  let pending = Buffer.alloc(0);
  const lines: string[] = [];
  const more = async (): Promise<boolean> => {
    const { done, value } = await body.next();
    if (done === true) return false;
    pending = Buffer.concat([pending, value]);
    return true;
  };
  let read = 0;
  for (;;) {
    while (pending.length < 4) if (!(await more())) throw new MalformedPushError('the push ends within its commands');
    const digits = pending.toString('latin1', 0, 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new MalformedPushError('the push is not in Git packets');
    const length = Number.parseInt(digits, 16);
    if (length < 4) {
      pending = pending.subarray(4);
      break;
    }
    read += length;
    if (read > MAX_COMMAND_BYTES) throw new MalformedPushError(`more than ${MAX_COMMAND_BYTES} bytes of commands`);
    while (pending.length < length)
      if (!(await more())) throw new MalformedPushError('the push ends within its commands');
    lines.push(pending.toString('utf8', 4, length).replace(/\n$/, ''));
    pending = pending.subarray(length);
  }
  // The number of objects decides how the pack is taken in; it is in the first twelve bytes.
  while (pending.length < 12 && (await more()));
  let capabilities: ReadonlySet<string> | undefined;
  const commands: PushCommand[] = [];
  for (const line of lines) {
    // A shallow client says where its history ends. Every commit that is accepted stands on the branch, so it may.
    if (line.startsWith('shallow ')) continue;
    const [command = '', features] = line.split('\0');
    capabilities ??= new Set((features ?? '').split(' '));
    const match = /^(\S+) (\S+) (.+)$/.exec(command);
    const [oldId = '', newId = '', ref = ''] = match?.slice(1) ?? [];
    if (!isObjectId(oldId) || !isObjectId(newId)) throw new MalformedPushError('a command is not "<old> <new> <ref>"');
    commands.push({ oldId: oldId === ZERO_ID ? undefined : oldId, newId: newId === ZERO_ID ? undefined : newId, ref });
  }
  return { commands, capabilities: capabilities ?? new Set(), packHead: pending };
}

/** Objects in a pack, from its first twelve bytes; `undefined` when they are no pack's. */
export function packObjectCount(head: Buffer): number | undefined {
  return head.length >= 12 && head.toString('latin1', 0, 4) === 'PACK' ? head.readUInt32BE(8) : undefined;
}
