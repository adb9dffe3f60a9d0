/** The `string` of RFC 4251, section 5: its length in four bytes, then its bytes. */
export function sshString(value: Buffer | string): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Reads RFC 4251 values one after the other. Throws SshFormatError where there are not as many bytes as announced. */
export class SshReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new SshFormatError('it ends early');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  uint32(): number {
    return this.take(4).readUInt32BE();
  }

  string(): Buffer {
    return this.take(this.uint32());
  }

  text(): string {
    return this.string().toString('latin1');
  }

  /** A positive `mpint` as big-endian bytes without a leading zero. */
  positiveInteger(): Buffer {
    const bytes = this.string();
    const first = bytes[0] ?? 0;
    if (bytes.length === 0 || first >= 0x80) throw new SshFormatError('a number in it is not positive');
    return first === 0 ? bytes.subarray(1) : bytes;
  }

  /** @throws SshFormatError when something is left */
  end(): void {
    if (this.#at !== this.#bytes.length) throw new SshFormatError('there is more in it than belongs there');
  }
}

/** Not what RFC 4251, RFC 4253 or PROTOCOL.sshsig say; the message goes on from "the key …" or "the signature …". */
export class SshFormatError extends Error {
  override readonly name = 'SshFormatError';
}
