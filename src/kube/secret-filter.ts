/** Of a message of a server, or of anything else that is told of a request. */
export const MAX_MESSAGE = 1000;
/** Further on nothing is looked at: it would be cut off anyhow. */
const LOOKED_AT = 4 * MAX_MESSAGE;
/** So many characters of a secret in a row are taken for it; a shorter secret counts where it stands as a whole. */
const PIECE = 16;
/** Shorter ones would be found in any text. */
const SHORTEST = 6;
/** Credentials rotate; an answer may still speak of one from before. */
const MAX_SECRETS = 16;
const REDACTED = '[redacted]';

/** What is left of a credential around what was found of it: the ends of base64 depend on what stands beside it. */
const AROUND = /[\w+/=%.~-]*\[redacted\][\w+/=%.~-]*/g;

/** Whatever looks like a credential, also one that is not this connection's: of a proxy, or of a plugin that was asked. */
const SUSPECT: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]{20,}/gi, `$1 ${REDACTED}`],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}(\.[\w-]*)?/g, REDACTED],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, REDACTED],
  [/(https?:\/\/)[^\s/@]*:[^\s/@]*@/gi, `$1${REDACTED}@`],
];

/**
 * Makes text that came from elsewhere fit to be logged, stored and shown: without the secrets of the connection, however a
 * server that echoes its request has encoded them, in one line, without control characters, and bounded.
 */
export class SecretFilter {
  readonly #secrets = new Set<string>();
  #whole: readonly string[] = [];
  #pieces = '';

  add(secret: string | undefined): void {
    const text = secret?.replaceAll(/-----(BEGIN|END) [A-Z ]+-----/g, '').trim() ?? '';
    if (text.length < SHORTEST || this.#secrets.has(text)) return;
    this.#secrets.add(text);
    const [oldest] = this.#secrets;
    if (oldest !== undefined && this.#secrets.size > MAX_SECRETS) this.#secrets.delete(oldest);
    const forms = [...this.#secrets].flatMap(formsOf);
    this.#whole = forms.filter(({ length }) => length < PIECE).toSorted((a, b) => b.length - a.length);
    this.#pieces = forms.filter(({ length }) => length >= PIECE).join('\n');
  }

  clean(text: string): string {
    let clean = this.#withoutPieces(text.slice(0, LOOKED_AT));
    for (const whole of this.#whole) clean = clean.replaceAll(whole, REDACTED);
    clean = clean.replaceAll(AROUND, REDACTED);
    for (const [pattern, instead] of SUSPECT) clean = clean.replaceAll(pattern, instead);
    return harmless(clean);
  }

  #withoutPieces(text: string): string {
    let clean = '';
    let from = 0;
    let at = 0;
    while (at + PIECE <= text.length) {
      const piece = text.slice(at, at + PIECE);
      if (/\n/.test(piece) || !this.#pieces.includes(piece)) {
        at += 1;
        continue;
      }
      clean += text.slice(from, at) + REDACTED;
      at += PIECE;
      // As far as it goes on.
      while (at < text.length && text[at] !== '\n' && this.#pieces.includes(text.slice(at - PIECE + 1, at + 1)))
        at += 1;
      from = at;
    }
    return clean + text.slice(from);
  }
}

/** In one line, without what a terminal obeys, and of bounded length. */
export function harmless(text: string): string {
  const line = text
    .trim()
    .replaceAll(/\s*[\r\n\u0085\u2028\u2029]\s*/g, ' | ')
    // eslint-disable-next-line no-control-regex -- they are what is looked for
    .replaceAll(/[\u0000-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/g, ' ');
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE).toWellFormed()}…` : line.toWellFormed();
}

function formsOf(secret: string): readonly string[] {
  // The lines of a PEM, and what becomes of it where they are joined.
  const texts = [secret, secret.replaceAll(/\s/g, '')];
  const base64 = texts.flatMap((text) => [0, 1, 2].map((before) => base64Within(text, before)));
  const all = [...texts, ...base64, ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))];
  return [...new Set([...all, ...all.map(encodeURIComponent)])].filter(({ length }) => length >= SHORTEST);
}

/** What of the base64 of a longer text depends on the secret alone, which begins `before` bytes (modulo 3) in. */
function base64Within(secret: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  const whole = bytes.subarray(0, bytes.length - (bytes.length % 3)).toString('base64');
  return whole.slice(before === 0 ? 0 : before + 1);
}
