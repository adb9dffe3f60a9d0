import type { JsonObject } from './json-value.ts';
import { faultValue } from './schema/go-value.ts';

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
  readonly retryAfterSeconds?: number;
}

/** What an error says about the resource it concerns: `widgets` of group `example.com`. */
export interface ResourceName {
  readonly group: string;
  readonly plural: string;
}

/** One violated rule of an object, in the words of apimachinery's field errors. */
export interface FieldFault {
  readonly reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueForbidden'
    | 'FieldValueNotSupported'
    | 'FieldValueDuplicate'
    | 'FieldValueTooLong';
  readonly field: string;
  readonly detail: string;
  /** Shown of invalid, unsupported and duplicate values; an absent value prints as `"null"`. */
  readonly value?: unknown;
  /** Printed instead of the value, where Go's type of it is not that of decoded JSON. */
  readonly shown?: string;
}

/** A refusal in the API server's own shape: `kind: Status`, `reason`, `code`, `details`. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  /** Of an expired list: where to go on. */
  readonly continueToken: string | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails, continueToken?: string) {
    super(message);
    this.name = 'StatusError';
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.continueToken = continueToken;
  }

  toStatus(): JsonObject {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continueToken === undefined ? {} : { continue: this.continueToken },
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

export function qualified(resource: ResourceName): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
}

function detailsOf(resource: ResourceName, name: string): StatusDetails {
  return {
    ...(name === '' ? {} : { name }),
    ...(resource.group === '' ? {} : { group: resource.group }),
    kind: resource.plural,
  };
}

export function notFound(resource: ResourceName, name: string): StatusError {
  return new StatusError(404, 'NotFound', `${qualified(resource)} "${name}" not found`, detailsOf(resource, name));
}

export function alreadyExists(resource: ResourceName, name: string): StatusError {
  const message = `${qualified(resource)} "${name}" already exists`;
  return new StatusError(409, 'AlreadyExists', message, detailsOf(resource, name));
}

export function conflict(resource: ResourceName, name: string, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`;
  return new StatusError(409, 'Conflict', message, detailsOf(resource, name));
}

export function forbidden(
  resource: ResourceName,
  name: string,
  why: string,
  causes?: StatusDetails['causes'],
): StatusError {
  const message = `${qualified(resource)} ${name === '' ? '' : `"${name}" `}is forbidden: ${why}`;
  const details = { ...detailsOf(resource, name), ...(causes === undefined ? {} : { causes }) };
  return new StatusError(403, 'Forbidden', message, details);
}

export function badRequest(message: string): StatusError {
  return new StatusError(400, 'BadRequest', message);
}

/**
 * A continue token or a resourceVersion that the history no longer reaches back to.
 *
 * @param goOnWith a continue token that is good now
 */
export function expired(message: string, goOnWith?: string): StatusError {
  return new StatusError(410, 'Expired', message, undefined, goOnWith);
}

export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new StatusError(415, 'UnsupportedMediaType', message);
}

export function methodNotAllowed(): StatusError {
  const message = 'the server does not allow this method on the requested resource';
  return new StatusError(405, 'MethodNotAllowed', message, {});
}

const WORDS: Readonly<Record<FieldFault['reason'], readonly [words: string, showsValue: boolean]>> = {
  FieldValueRequired: ['Required value', false],
  FieldValueForbidden: ['Forbidden', false],
  FieldValueTooLong: ['Too long', false],
  FieldValueNotSupported: ['Unsupported value', true],
  FieldValueInvalid: ['Invalid value', true],
  FieldValueDuplicate: ['Duplicate value', true],
};

function faultText(fault: FieldFault): string {
  const [words, showsValue] = WORDS[fault.reason];
  const value = showsValue ? `: ${fault.shown ?? faultValue(fault.value)}` : '';
  return `${words}${value}${fault.detail === '' ? '' : `: ${fault.detail}`}`;
}

/** 422: the object breaks rules; every fault is a cause with its field. */
export function invalid(
  kind: { readonly group: string; readonly kind: string },
  name: string,
  faults: readonly FieldFault[],
): StatusError {
  const causes = faults.map((fault) => ({ reason: fault.reason, message: faultText(fault), field: fault.field }));
  const texts = causes.map((cause) => `${cause.field}: ${cause.message}`);
  const list = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
  const qualifiedKind = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  return new StatusError(422, 'Invalid', `${qualifiedKind} "${name}" is invalid: ${list}`, {
    ...(name === '' ? {} : { name }),
    ...(kind.group === '' ? {} : { group: kind.group }),
    kind: kind.kind,
    causes,
  });
}
