/** The packet that ends a section (gitprotocol-common, "pkt-line"). */
export const FLUSH_PKT = Buffer.from('0000', 'latin1');

const MAX_PKT_BYTES = 65_520;

/** One packet: four hex digits of length, its own included, then the data. */
export function pktLine(data: string | Uint8Array): Buffer {
  const bytes = typeof data === 'string' ? Buffer.from(data, 'utf8') : data;
  if (bytes.length + 4 > MAX_PKT_BYTES) throw new Error(`a packet of ${bytes.length} bytes is too long`);
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0'), 'latin1'), bytes]);
}

/**
 * All packets of `bytes`; `undefined` stands for a flush.
 *
 * @throws when it is cut short or is not packets at all (an HTML page of a proxy)
 */
export function readPktLines(bytes: Buffer): readonly (Buffer | undefined)[] {
  const packets: (Buffer | undefined)[] = [];
  let at = 0;
  while (at < bytes.length) {
    const digits = bytes.toString('latin1', at, at + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new Error('the answer is not in Git packets');
    const length = Number.parseInt(digits, 16);
    if (length < 4) {
      packets.push(undefined);
      at += 4;
    } else {
      if (at + length > bytes.length) throw new Error('the answer in Git packets is cut short');
      packets.push(bytes.subarray(at + 4, at + length));
      at += length;
    }
  }
  return packets;
}
