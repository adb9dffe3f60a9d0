import { AppError } from './app-error.ts';
import { setOwn } from './own-property.ts';

/** Containers inside containers that a body may have unless its reader says otherwise. */
export const DEFAULT_MAX_DEPTH = 64;

export interface StrictJsonOptions {
  /** Deepest nesting of objects and arrays; the outermost is 1. */
  readonly maxDepth?: number;
  /** Take an integer literal beyond ±(2^53−1) for the double nearest to it: what `JSON.stringify` writes for 1e20. */
  readonly bigIntegers?: boolean;
}

/**
 * Parses a JSON body so that every reader, and every MAC over its canonical form, sees the same value (RFC 7493, I-JSON).
 * `-0` is read as `0`. A `__proto__` member becomes an ordinary own property.
 *
 * @throws AppError `invalid_body` for invalid UTF-8, a syntax error, a duplicate key, a lone surrogate, a number that
 *   overflows a double, an integer literal beyond ±(2^53−1), or nesting that is too deep; its message has the line, the
 *   column and the JSON pointer of the fault
 */
export function parseStrictJson(bytes: Uint8Array, options: StrictJsonOptions = {}): unknown {
  return new StrictJsonReader(decodeUtf8(bytes), options).document();
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
// Up to the closing quote, an escape, or a character that may not stand in a string.
// oxlint-disable-next-line no-control-regex
const PLAIN_CHARACTERS = /[^"\\\u0000-\u001f]*/y;
const LITERALS = [
  ['true', true],
  ['false', false],
  ['null', null],
] as const;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

class StrictJsonReader {
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #bigIntegers: boolean;
  readonly #path: (string | number)[] = [];
  #at = 0;

  constructor(text: string, options: StrictJsonOptions) {
    this.#text = text;
    this.#maxDepth = options.maxDepth ?? DEFAULT_MAX_DEPTH;
    this.#bigIntegers = options.bigIntegers ?? false;
  }

  document(): unknown {
    this.#skipWhitespace();
    if (this.#at >= this.#text.length) this.#fail('the body is empty, JSON is expected');
    const value = this.#value(1);
    this.#skipWhitespace();
    if (this.#at < this.#text.length) this.#fail('unexpected text after the JSON value');
    return value;
  }

  #value(depth: number): unknown {
    const character = this.#text.charAt(this.#at);
    if (character === '{' || character === '[') {
      if (depth > this.#maxDepth) this.#fail(`nested deeper than ${this.#maxDepth} levels`);
      return character === '{' ? this.#object(depth) : this.#array(depth);
    }
    if (character === '"') return this.#string();
    if (character === '-' || (character >= '0' && character <= '9')) return this.#number();
    for (const [word, value] of LITERALS) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    return this.#fail(character === '' ? 'the text ends where a value is expected' : 'a value is expected');
  }

  #object(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    this.#at += 1;
    this.#skipWhitespace();
    if (this.#take('}')) return object;
    for (;;) {
      if (this.#text.charAt(this.#at) !== '"') this.#fail('a member name in double quotes is expected');
      const start = this.#at;
      const key = this.#string();
      this.#path.push(key);
      if (Object.hasOwn(object, key)) this.#fail('duplicate member name', start);
      this.#skipWhitespace();
      if (!this.#take(':')) this.#fail("':' is expected after a member name");
      this.#skipWhitespace();
      setOwn(object, key, this.#value(depth + 1));
      this.#path.pop();
      this.#skipWhitespace();
      if (this.#take('}')) return object;
      if (!this.#take(',')) this.#fail("',' or '}' is expected");
      this.#skipWhitespace();
    }
  }

  #array(depth: number): unknown[] {
    const array: unknown[] = [];
    this.#at += 1;
    this.#skipWhitespace();
    if (this.#take(']')) return array;
    for (;;) {
      this.#path.push(array.length);
      array.push(this.#value(depth + 1));
      this.#path.pop();
      this.#skipWhitespace();
      if (this.#take(']')) return array;
      if (!this.#take(',')) this.#fail("',' or ']' is expected");
      this.#skipWhitespace();
    }
  }

  #string(): string {
    const start = this.#at;
    this.#at += 1;
    let value = '';
    for (;;) {
      PLAIN_CHARACTERS.lastIndex = this.#at;
      const plain = PLAIN_CHARACTERS.exec(this.#text)?.[0] ?? '';
      value += plain;
      this.#at += plain.length;
      const character = this.#text.charAt(this.#at);
      if (character === '"') break;
      if (character === '') this.#fail('the string is not closed', start);
      if (character !== '\\') this.#fail('a control character must be escaped in a string');
      value += this.#escape();
    }
    this.#at += 1;
    if (!value.isWellFormed()) this.#fail('the string holds a lone surrogate', start);
    return value;
  }

  #escape(): string {
    const letter = this.#text.charAt(this.#at + 1);
    const simple = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (simple !== undefined) {
      this.#at += 2;
      return simple;
    }
    const digits = this.#text.slice(this.#at + 2, this.#at + 6);
    if (letter !== 'u' || !/^[0-9a-fA-F]{4}$/.test(digits)) this.#fail('invalid escape in a string');
    this.#at += 6;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #number(): number {
    NUMBER.lastIndex = this.#at;
    const match = NUMBER.exec(this.#text);
    if (match === null) return this.#fail('a digit is expected after the minus sign');
    const [literal, fraction, exponent] = match;
    const next = this.#text.charAt(this.#at + literal.length);
    if (next !== '' && /[0-9a-zA-Z.+-]/.test(next)) this.#fail('invalid number');
    const value = Number(literal);
    if (!Number.isFinite(value)) this.#fail('the number overflows a double');
    const isIntegerLiteral = fraction === undefined && exponent === undefined;
    if (isIntegerLiteral && !this.#bigIntegers && !Number.isSafeInteger(value)) {
      this.#fail('the integer is beyond ±(2^53−1); send it as a string');
    }
    this.#at += literal.length;
    return value === 0 ? 0 : value;
  }

  #take(character: string): boolean {
    if (this.#text.charAt(this.#at) !== character) return false;
    this.#at += 1;
    return true;
  }

  #skipWhitespace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at += 1;
    }
  }

  #fail(message: string, at: number = this.#at): never {
    const before = this.#text.slice(0, at);
    const line = before.split('\n').length;
    const column = at - before.lastIndexOf('\n');
    refuse(message, `line ${line}, column ${column}`, toJsonPointer(this.#path));
  }
}

/** RFC 6901 pointer of a path of member names and indexes; the whole document is the empty text. */
export function toJsonPointer(path: readonly (string | number)[]): string {
  return path.map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refuse('the body is not valid UTF-8', `byte ${firstInvalidByte(bytes)}`, '');
  }
}

/** Bisects for the longest prefix that can still become valid: a streaming decoder keeps an unfinished sequence back. */
function firstInvalidByte(bytes: Uint8Array): number {
  let valid = 0;
  let invalid = bytes.length + 1;
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >>> 1;
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, middle), { stream: middle <= bytes.length });
      valid = middle;
    } catch {
      invalid = middle;
    }
  }
  return valid;
}

function refuse(message: string, position: string, pointer: string): never {
  const where = pointer === '' ? 'at the document root' : `at ${shorten(pointer)}`;
  throw new AppError('invalid_body', `${message} (${position}, ${where})`, {
    faults: [{ path: pointer, message: `${message} (${position})` }],
  });
}

function shorten(pointer: string): string {
  return pointer.length <= 200 ? pointer : `${pointer.slice(0, 200).toWellFormed()}…`;
}
