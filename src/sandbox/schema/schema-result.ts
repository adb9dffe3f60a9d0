import type { FieldFault } from '../status-error.ts';

/** One violation in go-openapi's words, and the field error that the API server makes of it. */
export interface SchemaError {
  readonly message: string;
  readonly fault: FieldFault;
}

/** What a check found. `matches` counts the checks that went well: it picks the closest alternative of an anyOf. */
export class SchemaResult {
  readonly errors: SchemaError[] = [];
  matches = 0;

  get valid(): boolean {
    return this.errors.length === 0;
  }

  /** The same words are said once. */
  add(error: SchemaError): this {
    if (!this.errors.some(({ message }) => message === error.message)) this.errors.push(error);
    return this;
  }

  merge(other: SchemaResult): this {
    for (const error of other.errors) this.add(error);
    this.matches += other.matches;
    return this;
  }
}

function fieldOf(path: string): string {
  const field = path.replace(/^\./, '');
  // A field error without a path prints Go's nil.
  return field === '' ? '<nil>' : field;
}

export function invalidValue(path: string, message: string, value: unknown): SchemaError {
  return {
    message: `${path} in body ${message}`,
    fault: {
      reason: 'FieldValueInvalid',
      field: fieldOf(path),
      value,
      detail: `${path} in body ${message}`,
    },
  };
}

/** `given` is the type or text that was found instead. */
export function wrongType(path: string, wanted: string, given: string): SchemaError {
  return invalidValue(path, `must be of type ${wanted}: ${JSON.stringify(given)}`, given);
}

export function missing(path: string): SchemaError {
  return {
    message: `${path} in body is required`,
    fault: { reason: 'FieldValueRequired', field: fieldOf(path), detail: '' },
  };
}

export function notOneOf(path: string, value: unknown, values: readonly unknown[]): SchemaError {
  const texts = values.map((allowed) => (typeof allowed === 'string' ? allowed : JSON.stringify(allowed)));
  return {
    message: `${path} in body should be one of [${texts.join(' ')}]`,
    fault: {
      reason: 'FieldValueNotSupported',
      field: fieldOf(path),
      value,
      detail: `supported values: ${texts.map((text) => JSON.stringify(text)).join(', ')}`,
    },
  };
}

/** About a junctor (`anyOf`, `not`, …): the API server loses the path of these. */
export function junctor(path: string, message: string): SchemaError {
  const text = `${JSON.stringify(path)} ${message}`;
  return { message: text, fault: { reason: 'FieldValueInvalid', field: '<nil>', value: '', detail: text } };
}
