/** Crockford's base32 in lower case: no i, l, o, u, and it sorts like the numbers it encodes. */
const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz';

const CLUSTER_ID_BYTES = 10;
const ID_RANDOM_BYTES = 10;
/** 10 characters hold milliseconds until the year 37648. */
const TIME_CHARACTERS = 10;
const MAX_PREFIX = 13;

/** `c-` and 16 characters of base32 (80 random bits): valid as label value, DNS label, path segment, certificate CN. */
export function newClusterId(randomBytes: (n: number) => Uint8Array): string {
  return `c-${base32(randomBytes(CLUSTER_ID_BYTES))}`;
}

export function isClusterId(text: string): boolean {
  return /^c-[0-9a-hjkmnp-tv-z]{16}$/.test(text);
}

/**
 * `<prefix>-<time><random>`: at most 40 characters, a DNS label, sorts as text by creation time to the millisecond.
 *
 * @param prefix 1 to 13 lower-case letters and digits that starts with a letter, such as `int`
 */
export function newId(prefix: string, now: Date, randomBytes: (n: number) => Uint8Array): string {
  if (!/^[a-z][a-z0-9]*$/.test(prefix) || prefix.length > MAX_PREFIX) {
    throw new TypeError(`the prefix of an id is 1 to ${MAX_PREFIX} lower-case letters and digits, not '${prefix}'`);
  }
  let rest = now.getTime();
  let time = '';
  for (let index = 0; index < TIME_CHARACTERS; index += 1) {
    time = CROCKFORD.charAt(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  return `${prefix}-${time}${base32(randomBytes(ID_RANDOM_BYTES))}`;
}

/** Five bits a character, most significant first; `bytes` holds a multiple of five bytes. */
function base32(bytes: Uint8Array): string {
  let text = '';
  let held = 0;
  let bits = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += CROCKFORD.charAt((held >>> bits) & 31);
    }
    held &= (1 << bits) - 1;
  }
  return text;
}
