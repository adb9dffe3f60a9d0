import { Type } from 'typebox';
import { AppError } from '../../protocol/app-error.ts';
import { compileParser } from '../../protocol/parse.ts';
import type { HostKind } from './repository-address.ts';

/** What a verified delivery tells. `number` is absent for events that are about no pull or merge request. */
export interface WebhookEvent {
  /** `owner/name` as the host names the repository. */
  readonly repository: string;
  readonly number?: number;
}

const Number1 = Type.Integer({ minimum: 1 });

/** GitHub's, Gitea's and Forgejo's events of pull requests; other events have the repository alone. */
const parsePullEvent = compileParser(
  Type.Object({
    repository: Type.Object({ full_name: Type.String() }),
    number: Type.Optional(Number1),
    pull_request: Type.Optional(Type.Object({ number: Number1 })),
  }),
);
/** GitLab's: `object_kind` says what `object_attributes` is. */
const parseMergeEvent = compileParser(
  Type.Object({
    object_kind: Type.String(),
    project: Type.Object({ path_with_namespace: Type.String() }),
    object_attributes: Type.Optional(Type.Object({ iid: Type.Optional(Number1) })),
  }),
);

/**
 * Reads a delivery's body: JSON, or the form in which GitHub and Gitea send it where nobody chose JSON.
 *
 * @throws AppError `invalid_body`, `constraint_violated`
 */
export function readWebhook(host: HostKind, contentType: string | undefined, body: Buffer): WebhookEvent {
  const text = body.toString('utf8');
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(contentType ?? '');
  const event = parseJson(isForm ? (new URLSearchParams(text).get('payload') ?? '') : text);
  if (host === 'gitlab') {
    const { object_kind: kind, project, object_attributes: about } = parseMergeEvent(event);
    const number = kind === 'merge_request' ? about?.iid : undefined;
    return { repository: project.path_with_namespace, ...(number === undefined ? {} : { number }) };
  }
  const { repository, number, pull_request: request } = parsePullEvent(event);
  const own = request === undefined ? undefined : (number ?? request.number);
  return { repository: repository.full_name, ...(own === undefined ? {} : { number: own }) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AppError('invalid_body', 'the delivery is not JSON; set its content type to application/json', {
      cause: error,
    });
  }
}
