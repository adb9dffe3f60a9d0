import { ADMIN_PREFIX } from './describe-operation.ts';
import type { Operation } from './openapi.ts';

type Parameter = NonNullable<Operation['parameters']>[number];

const TAG = 'The ETag of an answer, several with commas between them, or *.';
const header = (name: string, description: string): Parameter => ({
  in: 'header',
  name,
  required: false,
  description,
  schema: { type: 'string' },
});
const ORGANIZATION = header('Service-Organization', 'Of somebody who belongs to several: which one is meant.');
const IDEMPOTENCY_KEY = header(
  'Idempotency-Key',
  'The same request under the same key is carried out once, and answered again as it was the first time.',
);
const LAST_EVENT_ID = header('Last-Event-ID', 'The id of the last event that was seen: the stream goes on behind it.');
const IF_NONE_MATCH = header('If-None-Match', TAG);
const IF_MATCH = header('If-Match', `${TAG} The change is refused (412) where something else is there by now.`);

/** The headers that an operation reads, besides those of its credentials. */
export function headerParameters(
  path: string,
  method: string,
  item: Readonly<Record<string, Pick<Operation, 'responses'>>>,
): readonly Parameter[] {
  const isTagged = item['get']?.responses['304'] !== undefined;
  const ofReads = method === 'get' && isTagged ? [IF_NONE_MATCH] : [];
  if (!path.startsWith(`${ADMIN_PREFIX}/`)) return ofReads;
  const ofWrites = isTagged && ['put', 'patch', 'delete'].includes(method) ? [IF_MATCH] : [];
  const ofStreams = path === `${ADMIN_PREFIX}/changes` ? [LAST_EVENT_ID] : [];
  return [ORGANIZATION, ...ofStreams, ...ofReads, ...ofWrites, ...(method === 'post' ? [IDEMPOTENCY_KEY] : [])];
}
