import { randomBytes } from 'node:crypto';
import { Secret } from '../runtime/secret.ts';
import { StatusError } from './status-error.ts';

/** What a request asks for, in the words of RBAC. */
export interface Attributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Set for requests that are not about a resource. */
  readonly path: string | undefined;
}

export interface User {
  readonly name: string;
  readonly groups: readonly string[];
  readonly may: (attributes: Attributes) => boolean;
}

const PUBLIC = new Set(['/healthz', '/livez', '/readyz', '/version']);

const ANONYMOUS: User = { name: 'system:anonymous', groups: ['system:unauthenticated'], may: () => false };

/** Of a token that was issued: whether it still stands for its user. */
type Validity = () => boolean;

/** Bearer tokens and who holds them. */
export class Authentication {
  readonly #users = new Map<string, User & { readonly isValid?: Validity }>();

  /** Adds a user; without `may` it may do everything. */
  add(
    user: { readonly name: string; readonly groups?: readonly string[]; readonly may?: User['may'] },
    token?: Secret,
  ): Secret {
    const secret = token ?? new Secret(randomBytes(24).toString('base64url'));
    const groups = user.groups ?? [...(user.may === undefined ? ['system:masters'] : []), 'system:authenticated'];
    this.#users.set(secret.expose(), { name: user.name, groups, may: user.may ?? (() => true) });
    return secret;
  }

  /** A token of an account, which has the rights that were given to a user of its name, if any were; it may end. */
  issue(account: Pick<User, 'name' | 'groups'>, token: Secret, isValid: Validity): void {
    for (const [text, user] of this.#users) if (user.isValid?.() === false) this.#users.delete(text);
    const known = [...this.#users.values()].findLast(({ name }) => name === account.name);
    this.#users.set(token.expose(), { ...account, may: known?.may ?? (() => true), isValid });
  }

  /** The token answers 401 from now on. */
  revoke(token: Secret): void {
    this.#users.delete(token.expose());
  }

  /** @throws StatusError 401 for a token nobody holds, 403 for what the user may not do */
  check(authorization: string | undefined, attributes: Attributes): User {
    const user = this.#userOf(authorization);
    if (user === undefined) {
      if (attributes.path !== undefined && PUBLIC.has(attributes.path)) return ANONYMOUS;
      throw refusal(ANONYMOUS.name, attributes);
    }
    if (!user.may(attributes)) throw refusal(user.name, attributes);
    return user;
  }

  #userOf(authorization: string | undefined): User | undefined {
    if (authorization === undefined) return undefined;
    const [, token] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
    const user = token === undefined ? undefined : this.#users.get(token);
    if (user === undefined || user.isValid?.() === false) throw new StatusError(401, 'Unauthorized', 'Unauthorized');
    return user;
  }
}

function refusal(user: string, attributes: Attributes): StatusError {
  const { verb, group, resource, subresource, namespace, name, path } = attributes;
  if (path !== undefined) {
    return new StatusError(403, 'Forbidden', `forbidden: User "${user}" cannot ${verb} path "${path}"`, {});
  }
  const qualified = group === '' ? resource : `${resource}.${group}`;
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const message = `${qualified} ${name === '' ? '' : `"${name}" `}is forbidden: User "${user}" cannot ${verb} resource "${what}" in API group "${group}" ${where}`;
  return new StatusError(403, 'Forbidden', message, {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    kind: resource,
  });
}
