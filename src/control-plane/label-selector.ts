import { refusal } from '../protocol/parse.ts';

/** One requirement of a selector, in Kubernetes' own words. */
export type LabelRequirement =
  | { readonly kind: 'in' | 'not-in'; readonly name: string; readonly values: readonly string[] }
  | { readonly kind: 'exists' | 'not-exists'; readonly name: string };

const PREFIX = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*';
const PART = '[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?';
/** Syntax of a label's name and value in Kubernetes. */
export const LABEL_NAME_PATTERN = `^(?:(?=[^/]{1,253}/)${PREFIX}/)?${PART}$`;
export const LABEL_VALUE_PATTERN = `^(?:${PART})?$`;
const NAME = new RegExp(LABEL_NAME_PATTERN);
const VALUE = new RegExp(LABEL_VALUE_PATTERN);
const EXAMPLE = 'team=shop,env!=dev,tier in (a,b),!retired';
const MAX_REQUIREMENTS = 32;
const MAX_VALUES = 64;

/**
 * Reads a selector as kubectl takes it: `name`, `!name`, `name=value` (or `==`), `name!=value`, `name in (a,b)`,
 * `name notin (a,b)`, separated by commas. As there, `!=` and `notin` also hold where there is no such label.
 *
 * @param path of the parameter, for what is refused
 * @throws AppError `constraint_violated` with the place of the fault and an example
 */
export function parseLabelSelector(text: string, path = '/label'): LabelRequirement[] {
  const reader = new Reader(text, path);
  const requirements: LabelRequirement[] = [];
  do {
    if (requirements.length === MAX_REQUIREMENTS) reader.fail(`has more than ${MAX_REQUIREMENTS} requirements`);
    requirements.push(readRequirement(reader));
  } while (reader.takes(','));
  reader.end();
  return requirements;
}

function readRequirement(reader: Reader): LabelRequirement {
  if (reader.takes('!')) return { kind: 'not-exists', name: reader.name() };
  const name = reader.name();
  if (reader.takes('!=')) return { kind: 'not-in', name, values: [reader.value()] };
  if (reader.takes('==') || reader.takes('=')) return { kind: 'in', name, values: [reader.value()] };
  if (reader.takesWord('in')) return { kind: 'in', name, values: readValues(reader) };
  if (reader.takesWord('notin')) return { kind: 'not-in', name, values: readValues(reader) };
  return { kind: 'exists', name };
}

function readValues(reader: Reader): string[] {
  if (!reader.takes('(')) reader.fail('needs ( here');
  const values: string[] = [];
  do {
    if (values.length === MAX_VALUES) reader.fail(`has more than ${MAX_VALUES} values in one list`);
    values.push(reader.value());
  } while (reader.takes(','));
  if (!reader.takes(')')) reader.fail('needs ) here');
  return values;
}

class Reader {
  readonly #text: string;
  readonly #path: string;
  #at = 0;

  constructor(text: string, path: string) {
    this.#text = text;
    this.#path = path;
  }

  takes(token: string): boolean {
    this.#skipBlanks();
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  /** A word that ends where it ends: not the beginning of a longer one. */
  takesWord(word: string): boolean {
    this.#skipBlanks();
    if (this.#word() !== word) return false;
    this.#at += word.length;
    return true;
  }

  name(): string {
    return this.#take(NAME, 'the name of a label');
  }

  value(): string {
    return this.#take(VALUE, 'the value of a label');
  }

  end(): void {
    this.#skipBlanks();
    if (this.#at < this.#text.length) this.fail('needs a comma or its end here');
  }

  fail(what: string): never {
    const found = this.#at < this.#text.length ? `"${this.#text.slice(this.#at, this.#at + 20)}"` : 'its end';
    const message = `${what}, at character ${this.#at + 1}, where ${found} stands; like ${EXAMPLE}`;
    throw refusal([{ path: this.#path, message }]);
  }

  #take(pattern: RegExp, what: string): string {
    this.#skipBlanks();
    const word = this.#word();
    if (!pattern.test(word)) this.fail(`needs ${what} here`);
    this.#at += word.length;
    return word;
  }

  #word(): string {
    return /^[^\s,=!()]*/.exec(this.#text.slice(this.#at))?.[0] ?? '';
  }

  #skipBlanks(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }
}
