import { ERROR_STATUS, type ErrorCode } from '../../../protocol/app-error.ts';

export type Api = 'admin' | 'agent' | 'public';

export interface ApiResponse {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

/** What decides which errors an operation can answer with. */
export interface OperationTraits {
  readonly api: Api;
  readonly method: string;
  readonly hasParameters: boolean;
  readonly hasBody: boolean;
}

/** The codes that an operation can answer with: the same for all of a kind, so that a client can handle them in one place. */
export function errorCodesOf(operation: OperationTraits): ErrorCode[] {
  const { api, method, hasParameters, hasBody } = operation;
  const writes = method.toUpperCase() !== 'GET';
  const codes: ErrorCode[] = ['invalid_body', 'constraint_violated', 'internal', 'unavailable'];
  if (api === 'admin') {
    codes.push('missing_token', 'invalid_token', 'expired_token', 'forbidden', 'not_found', 'rate_limited');
    // Also what is read may not be there in the state that it is in, as the diff of what is being rendered.
    if (writes || hasParameters) codes.push('conflict');
    if (writes) codes.push('precondition_failed', 'cluster_disabled');
  }
  if (api === 'agent') {
    codes.push('missing_token', 'invalid_token', 'expired_token', 'cluster_mismatch', 'cluster_disabled', 'forbidden');
    codes.push('not_acceptable', 'not_found', 'rate_limited');
    if (writes) codes.push('invalid_signature', 'clock_skew', 'conflict');
    if (writes) codes.push('registration_token_used', 'registration_token_expired', 'already_rotated');
    if (hasParameters) codes.push('job_not_found', 'job_closed', 'result_exists');
  }
  if (api === 'public') codes.push('invalid_signature', 'expired_token', 'forbidden', 'not_found');
  if (hasBody || writes) codes.push('payload_too_large', 'unsupported_media_type');
  return [...new Set(codes)].sort();
}

/** By status, as `responses` of an operation has them. */
export function errorResponses(codes: readonly ErrorCode[], mediaType: string): Record<string, ApiResponse> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) byStatus.set(ERROR_STATUS[code], [...(byStatus.get(ERROR_STATUS[code]) ?? []), code]);
  return Object.fromEntries(
    [...byStatus].map(([status, those]): [string, ApiResponse] => [
      String(status),
      {
        description: those.join(', '),
        content: {
          [mediaType]: {
            schema: { $ref: '#/components/schemas/ErrorAnswer', properties: { error: { enum: those } } },
          },
        },
      },
    ]),
  );
}
