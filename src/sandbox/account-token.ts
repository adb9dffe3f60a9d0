import { randomBytes } from 'node:crypto';
import { Secret } from '../runtime/secret.ts';
import type { Authentication } from './authentication.ts';
import type { JsonObject } from './json-value.ts';
import type { Storage } from './storage.ts';

/** Whose token it is. */
export interface Account {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * Makes a token that ends with its account. Its holder may do what a user of that name was given, and everything where none
 * was, as every user of the sandbox may that is given no rules.
 *
 * @param claims besides the subject
 * @param isValid whether it still stands, besides its account
 */
export function issueAccountToken(
  { storage, authentication }: { readonly storage: Storage; readonly authentication: Authentication },
  { namespace, name, uid }: Account,
  claims: JsonObject,
  isValid: (token: string) => boolean,
): string {
  const subject = `system:serviceaccount:${namespace}:${name}`;
  const part = (content: JsonObject): string => Buffer.from(JSON.stringify(content)).toString('base64url');
  const parts = [part({ alg: 'none' }), part({ ...claims, sub: subject }), randomBytes(32).toString('base64url')];
  const token = parts.join('.');
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  authentication.issue(
    { name: subject, groups },
    new Secret(token),
    () => isValid(token) && storage.get('serviceaccounts', namespace, name)?.metadata.uid === uid,
  );
  return token;
}
