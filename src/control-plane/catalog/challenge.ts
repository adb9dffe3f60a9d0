/** One challenge of `WWW-Authenticate` (RFC 9110, section 11.6.1), its scheme in lower case. */
export interface Challenge {
  readonly scheme: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const MAX_LENGTH = 4096;
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/** A parameter: `name=token` or `name="text"`, in which a backslash quotes. */
const PARAMETER = new RegExp(`^(${TOKEN})\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|(${TOKEN}))`);
const SCHEME = new RegExp(`^(${TOKEN})(?:\\s+|$)`);

/** Those of a header's value that can be read; what is behind something that cannot is left out. */
export function readChallenges(header: string): Challenge[] {
  const found: { readonly scheme: string; readonly parameters: Map<string, string> }[] = [];
  let rest = header.slice(0, MAX_LENGTH).trimStart();
  while (rest !== '') {
    const parameter = PARAMETER.exec(rest);
    const last = found.at(-1);
    if (parameter !== null && last !== undefined) {
      const [text, name = '', quoted, token] = parameter;
      last.parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? token ?? '');
      rest = rest.slice(text.length);
    } else {
      const scheme = SCHEME.exec(rest);
      if (scheme === null) return found;
      found.push({ scheme: (scheme[1] ?? '').toLowerCase(), parameters: new Map() });
      rest = rest.slice(scheme[0].length);
    }
    rest = rest.replace(/^[\s,]+/, '');
  }
  return found;
}
