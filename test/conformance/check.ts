import type { Answer } from './http-client.ts';
import type { Stage } from './stage.ts';

/** One rule of the protocol and how it is looked at from outside. */
export interface Check {
  /** `<file>.<words>`, stable: what `--only` and the tests of this suite name it by. */
  readonly id: string;
  /** Where the rule stands: a heading of the specification, or of the decisions where that is silent. */
  readonly section: string;
  /** Where it is told in `docs/spec/agent-protocol.md`: one of its headings. */
  readonly heading: string;
  /** The rule, in a sentence. */
  readonly sentence: string;
  /** `admin`: it takes clusters or intents that only an admin token can make. */
  readonly needs?: 'admin';
  /**
   * @throws Mismatch where the rule is broken; any other error counts as a failure too
   * @throws NotCheckable where this control plane gives no way to tell
   */
  readonly run: (stage: Stage) => Promise<void>;
}

/** What was expected, and the exchange that shows otherwise. */
export class Mismatch extends Error {
  readonly answer: Answer | undefined;

  constructor(expected: string, answer?: Answer) {
    super(expected);
    this.name = 'Mismatch';
    this.answer = answer;
  }
}

/** The rule holds or not, but this run cannot see it; the message says why. */
export class NotCheckable extends Error {
  override readonly name = 'NotCheckable';
}

/** @throws Mismatch */
export function must(holds: boolean, expected: string, answer?: Answer): asserts holds {
  if (!holds) throw new Mismatch(expected, answer);
}

/** The answer has this status and, below 400 without a 204, hands its body out as an object. */
export function mustBe(answer: Answer, status: number): Record<string, unknown> {
  must(answer.status === status, `status ${status}`, answer);
  if (status === 204 || status === 304) {
    must(answer.text === '', `no body with ${status}`, answer);
    return {};
  }
  return objectOf(answer);
}

/** The answer is an error of the protocol: its status, its `error` code, its body and headers (specification, "Errors"). */
export function mustRefuse(answer: Answer, status: number, ...codes: readonly string[]): Record<string, unknown> {
  must(answer.status === status, `status ${status} with error ${codes.join(' or ')}`, answer);
  const body = objectOf(answer);
  const code = body['error'];
  must(typeof code === 'string' && codes.includes(code), `error ${codes.join(' or ')}`, answer);
  must(typeof body['message'] === 'string' && body['message'] !== '', 'a message for people', answer);
  must(typeof body['requestId'] === 'string' && body['requestId'] !== '', 'a requestId', answer);
  return body;
}

/** A member of an object that has this type. */
export function stringIn(body: Readonly<Record<string, unknown>>, name: string, answer: Answer): string {
  const value = body[name];
  must(typeof value === 'string' && value !== '', `"${name}" is a string that is not empty`, answer);
  return value;
}

/** A member that is an RFC 3339 time; answers milliseconds. */
export function timeIn(body: Readonly<Record<string, unknown>>, name: string, answer: Answer): number {
  const text = stringIn(body, name, answer);
  const isRfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  must(isRfc3339, `"${name}" is an RFC 3339 time`, answer);
  return Date.parse(text);
}

function objectOf(answer: Answer): Record<string, unknown> {
  const { json } = answer;
  must(typeof json === 'object' && json !== null && !Array.isArray(json), 'a body that is a JSON object', answer);
  return { ...json };
}

/** One of the service's own `JSON` objects in a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
