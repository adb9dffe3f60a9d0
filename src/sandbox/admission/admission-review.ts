import type { User } from '../authentication.ts';
import { isJsonObject, listAt, objectAt, stringAt, type JsonObject } from '../json-value.ts';
import { goQuoted } from '../schema/go-value.ts';
import { StatusError } from '../status-error.ts';
import type { AdmissionStep } from './admission-step.ts';

/** Why a webhook could not be asked; its failure policy says whether that matters. */
export class WebhookFailure extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'WebhookFailure';
  }
}

/** What a webhook says about a request. */
export interface Verdict {
  readonly warnings: readonly string[];
  readonly denial?: StatusError;
  /** JSON patch operations of a mutating webhook. */
  readonly patch: unknown;
}

const VERSIONS = ['v1', 'v1beta1'];

/** The `admission.k8s.io` version to speak: the first of the webhook's that the server knows. */
export function reviewVersion(accepted: readonly string[]): string {
  const version = accepted.find((candidate) => VERSIONS.includes(candidate));
  if (version === undefined)
    throw new WebhookFailure('webhook does not accept known AdmissionReview versions (v1, v1beta1)');
  return version;
}

/** The AdmissionReview that a webhook is sent. @param version of the kind that the webhook asked for */
export function reviewRequest(
  step: AdmissionStep,
  input: { readonly uid: string; readonly review: string; readonly version: string; readonly user: User },
): JsonObject {
  const { kind, subresource, operation, dryRun, options } = step;
  const { group, plural: resource } = kind;
  const isNamespace = group === '' && resource === 'namespaces';
  const namespace = isNamespace ? step.name : step.namespace;
  const shown = (object: AdmissionStep['object']): unknown => {
    if (object === undefined) return null;
    return input.version === kind.version ? object : { ...object, apiVersion: `${group}/${input.version}` };
  };
  return {
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${input.review}`,
    request: {
      uid: input.uid,
      kind: { group, version: input.version, kind: kind.kind },
      resource: { group, version: input.version, resource },
      ...(subresource === '' ? {} : { subResource: subresource }),
      requestKind: { group, version: kind.version, kind: kind.kind },
      requestResource: { group, version: kind.version, resource },
      ...(subresource === '' ? {} : { requestSubResource: subresource }),
      ...(step.name === '' ? {} : { name: step.name }),
      ...(namespace === undefined ? {} : { namespace }),
      operation,
      userInfo: { username: input.user.name, groups: input.user.groups },
      object: shown(step.object),
      oldObject: shown(step.oldObject),
      dryRun,
      options,
    },
  };
}

/** A denial in the webhook's own words, with the code and reason it gave. */
function denialOf(webhook: string, result: JsonObject): StatusError {
  const deniedBy = `admission webhook ${goQuoted(webhook)} denied the request`;
  const [message, reason] = [stringAt(result, 'message') ?? '', stringAt(result, 'reason') ?? ''];
  const why = message === '' ? reason : message;
  const code = typeof result['code'] === 'number' && result['code'] >= 400 ? result['code'] : 400;
  const text = why === '' ? `${deniedBy} without explanation` : `${deniedBy}: ${why}`;
  return new StatusError(code, reason, text, isJsonObject(result['details']) ? result['details'] : undefined);
}

function checkPatch(response: JsonObject, phase: AdmissionStep['phase']): void {
  const [patched, typed] = [(stringAt(response, 'patch') ?? '') !== '', response['patchType'] !== undefined];
  if (phase === 'validating') {
    if (patched) throw new WebhookFailure('validating webhook may not return response.patch');
    if (typed) throw new WebhookFailure('validating webhook may not return response.patchType');
    return;
  }
  if (patched && !typed) throw new WebhookFailure('webhook returned response.patch but not response.patchType');
  if (!patched && typed) throw new WebhookFailure('webhook returned response.patchType but not response.patch');
  if (typed && response['patchType'] !== 'JSONPatch') {
    throw new WebhookFailure(`unsupported patch type ${JSON.stringify(response['patchType'])}`);
  }
}

function parsePatch(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64').toString());
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });
  }
}

/**
 * Reads the answer.
 *
 * @throws WebhookFailure for one that breaks the protocol
 */
export function readReview(
  webhook: string,
  step: AdmissionStep,
  sent: { readonly uid: string; readonly review: string },
  answer: JsonObject,
): Verdict {
  const { response } = answer;
  if (!isJsonObject(response)) throw new WebhookFailure('webhook response was absent');
  if (sent.review === 'v1') {
    const uid = stringAt(response, 'uid') ?? '';
    if (uid !== sent.uid) throw new WebhookFailure(`expected response.uid="${sent.uid}", got "${uid}"`);
    checkPatch(response, step.phase);
  }
  const warnings = listAt(response, 'warnings').map(String);
  if (response['allowed'] !== true) {
    return { warnings, denial: denialOf(webhook, objectAt(response, 'status')), patch: undefined };
  }
  const patch = step.phase === 'mutating' ? (stringAt(response, 'patch') ?? '') : '';
  return { warnings, patch: patch === '' ? undefined : parsePatch(patch) };
}
