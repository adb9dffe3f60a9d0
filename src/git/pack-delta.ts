const MAX_INSERT = 127;
const MAX_COPY = 0xff_ff_ff;

/**
 * The difference from `base` to `target` in a pack's form (gitformat-pack, "Deltified representation"): what both begin
 * with, what is new, what both end with. Made for one entry changed in a long directory, right for anything.
 */
export function spliceDelta(base: Buffer, target: Buffer): Buffer {
  const shorter = Math.min(base.length, target.length);
  const prefix = commonPrefix(base, target, shorter);
  const suffix = commonSuffix(base, target, shorter - prefix);
  const parts: Buffer[] = [varint(base.length), varint(target.length)];
  copy(parts, 0, prefix);
  for (let at = prefix; at < target.length - suffix; at += MAX_INSERT) {
    const piece = target.subarray(at, Math.min(at + MAX_INSERT, target.length - suffix));
    parts.push(Buffer.from([piece.length]), piece);
  }
  copy(parts, base.length - suffix, suffix);
  return Buffer.concat(parts);
}

const BLOCK = 4096;

function commonPrefix(base: Buffer, target: Buffer, limit: number): number {
  let at = 0;
  while (at + BLOCK <= limit && base.compare(target, at, at + BLOCK, at, at + BLOCK) === 0) at += BLOCK;
  while (at < limit && base[at] === target[at]) at += 1;
  return at;
}

function commonSuffix(base: Buffer, target: Buffer, limit: number): number {
  let length = 0;
  while (length + BLOCK <= limit) {
    const [b, t] = [base.length - length, target.length - length];
    if (base.compare(target, t - BLOCK, t, b - BLOCK, b) !== 0) break;
    length += BLOCK;
  }
  while (length < limit && base[base.length - 1 - length] === target[target.length - 1 - length]) length += 1;
  return length;
}

/** Copy instructions: the bytes of offset and size that are not zero follow, as the low seven bits of the first say. */
function copy(parts: Buffer[], offset: number, size: number): void {
  let [from, left] = [offset, size];
  while (left > 0) {
    const length = Math.min(left, MAX_COPY);
    const bytes = [0x80];
    const field = (value: number, count: number, firstBit: number): void => {
      for (let index = 0; index < count; index += 1) {
        const byte = Math.floor(value / 256 ** index) % 256;
        if (byte === 0) continue;
        bytes[0] = (bytes[0] ?? 0) | (1 << (firstBit + index));
        bytes.push(byte);
      }
    };
    field(from, 4, 0);
    field(length, 3, 4);
    parts.push(Buffer.from(bytes));
    from += length;
    left -= length;
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 0x80);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
