import { Type, type Static } from 'typebox';
import { compileParser } from '../../protocol/parse.ts';

export const REVIEW_API_VERSION = 'admission.k8s.io/v1';

const Metadata = Type.Object({
  name: Type.Optional(Type.String()),
  namespace: Type.Optional(Type.String()),
  resourceVersion: Type.Optional(Type.String()),
  deletionTimestamp: Type.Optional(Type.String()),
  labels: Type.Optional(Type.Record(Type.String(), Type.String())),
  annotations: Type.Optional(Type.Record(Type.String(), Type.String())),
  finalizers: Type.Optional(Type.Array(Type.String())),
});

const ReviewedObject = Type.Object({ apiVersion: Type.String(), kind: Type.String(), metadata: Metadata });
const MaybeObject = Type.Optional(Type.Union([ReviewedObject, Type.Null()]));

/** The part of an AdmissionReview that is read here; whatever else it holds is passed over. */
const AdmissionReview = Type.Object({
  apiVersion: Type.Literal(REVIEW_API_VERSION),
  kind: Type.Literal('AdmissionReview'),
  request: Type.Object({
    uid: Type.String({ minLength: 1, maxLength: 256 }),
    resource: Type.Object({ group: Type.String(), version: Type.String(), resource: Type.String() }),
    subResource: Type.Optional(Type.String()),
    operation: Type.String(),
    namespace: Type.Optional(Type.String()),
    name: Type.Optional(Type.String()),
    userInfo: Type.Object({ username: Type.Optional(Type.String()) }),
    /** Of the write: who says to be writing. */
    options: Type.Optional(Type.Union([Type.Object({ fieldManager: Type.Optional(Type.String()) }), Type.Null()])),
    object: MaybeObject,
    oldObject: MaybeObject,
  }),
});
export type AdmissionRequest = Static<typeof AdmissionReview>['request'];

const parse = compileParser(AdmissionReview);

/** @throws AppError that names what is wrong with the review */
export function parseReview(body: unknown): AdmissionRequest {
  return parse(body).request;
}

/** What is answered: refused with what to do instead, or allowed, with what is odd about it. */
export interface ReviewAnswer {
  readonly allowed: boolean;
  readonly message?: string;
  readonly warnings: readonly string[];
  /** For the API server's audit log, and for who wrote: what may pass is waited for by them. */
  readonly reasons?: readonly string[];
}

/** The AdmissionReview to answer with. */
export function reviewOf(uid: string, answer: ReviewAnswer): Readonly<Record<string, unknown>> {
  const { allowed, message = '', warnings, reasons = [] } = answer;
  const details = { causes: reasons.map((reason) => ({ reason })) };
  return {
    apiVersion: REVIEW_API_VERSION,
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed,
      ...(allowed ? {} : { status: { status: 'Failure', code: 403, reason: 'Forbidden', message, details } }),
      ...(warnings.length === 0 ? {} : { warnings: warnings.map(oneLine) }),
      ...(reasons.length === 0 ? {} : { auditAnnotations: { reasons: reasons.join(',') } }),
    },
  };
}

/** A warning travels in a header (RFC 7234, section 5.5): without control characters, or the API server drops it. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ');
}
