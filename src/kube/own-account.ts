import { Type } from 'typebox';
import { Timestamp } from '../protocol/condition.ts';
import { compileParser } from '../protocol/parse.ts';
import type { Clock } from '../runtime/clock.ts';
import { Secret } from '../runtime/secret.ts';
import { KubeError } from './cluster-api.ts';
import { ANSWER_UNREADABLE } from './kube-fault.ts';
import { sendRequest, type RequestDeps } from './kube-request.ts';
import { retryRequest } from './retry-request.ts';

/** What may be done, in the words of RBAC. */
export interface AccessQuestion {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Absent: in all of them, or of a kind that is in none. */
  readonly namespace?: string;
  readonly name?: string;
}

/** What a connection may ask of the API server about itself. Every method throws `KubeError`. */
export interface OwnAccount {
  /** By SelfSubjectAccessReview. */
  may(question: AccessQuestion, signal?: AbortSignal): Promise<boolean>;
  /** By the TokenRequest API (KEP-1205): a new token of the account, whose earlier ones stay good until they end. */
  requestToken(
    account: { readonly namespace: string; readonly name: string },
    wanted: { readonly expirationSeconds: number; readonly audiences?: readonly string[] },
    signal?: AbortSignal,
  ): Promise<{ readonly token: Secret; readonly expiresAt: string }>;
}

const parseReview = compileParser(Type.Object({ status: Type.Object({ allowed: Type.Boolean() }) }));
const parseToken = compileParser(
  Type.Object({ status: Type.Object({ token: Type.String({ minLength: 1 }), expirationTimestamp: Timestamp }) }),
);

export function ownAccount(
  deps: { readonly clock: Clock; readonly random: () => number },
  request: RequestDeps,
): OwnAccount {
  const post = async (path: string, body: object, signal?: AbortSignal): Promise<unknown> => {
    const answer = await sendRequest(request, { method: 'POST', path, body: JSON.stringify(body) }, signal);
    try {
      return JSON.parse(answer.body);
    } catch {
      return undefined;
    }
  };
  return {
    may: async (question, signal) => {
      const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
      const review = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: question },
      };
      // Nothing is stored, so it may be asked again.
      const answer = await retryRequest(deps, signal, async () => await post(path, review, signal));
      return read(parseReview, answer, path).status.allowed;
    },
    requestToken: async ({ namespace, name }, wanted, signal) => {
      const account = `${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}`;
      const path = `/api/v1/namespaces/${account}/token`;
      const answer = await post(
        path,
        { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec: wanted },
        signal,
      );
      const { status } = read(parseToken, answer, path);
      return { token: new Secret(status.token), expiresAt: new Date(status.expirationTimestamp).toISOString() };
    },
  };
}

/** The answer may hold a token, so a fault in it is not quoted. */
function read<T>(parser: (value: unknown) => T, answer: unknown, path: string): T {
  try {
    return parser(answer);
  } catch {
    throw new KubeError(`POST ${path}: the answer is not what was asked for`, {
      status: 0,
      reason: ANSWER_UNREADABLE,
    });
  }
}
