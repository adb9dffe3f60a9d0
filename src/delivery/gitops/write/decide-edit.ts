import { MAX_MANIFEST_BYTES, type Rendered } from '../../../intent/rendered.ts';
import type { DeliveryItem } from '../../delivery.ts';
import { pathFault } from '../../../git/path-rules.ts';
import { commitSubject } from './commit-subject.ts';
import { manifestPath, tombstonePath } from '../layout.ts';
import { isNewer, orderOf, readManifestFacts, readTombstoneFacts } from './manifest-facts.ts';
import { MANIFEST_TOO_LARGE } from '../../refusal-reasons.ts';
import { PATH_NOT_ALLOWED } from './refusal-reasons.ts';

/** What stands in the cluster's directory for the object of an intent. `undefined`: nothing. */
export interface Standing {
  readonly manifest: Buffer | undefined;
  readonly tombstone: Buffer | undefined;
}

/** What an intent means for the cluster's directory. Paths are relative to it; content undefined removes. */
export type EditDecision =
  /** It is there already, byte for byte. */
  | { readonly kind: 'unchanged' }
  /** Something newer is there. */
  | { readonly kind: 'superseded' }
  | {
      readonly kind: 'write';
      readonly subject: string;
      readonly edits: readonly { readonly path: string; readonly content: Buffer | undefined }[];
    };

export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

const SLUG = /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/;
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** Why an intent can never be a file in Git, whatever the repository holds; `undefined` when it can. */
export function refusalOf(rendered: Rendered): Refusal | undefined {
  const { intent, target } = rendered;
  const fault = (what: string, value: string, rule: string): Refusal => ({
    reason: PATH_NOT_ALLOWED,
    message: `the ${what} ${JSON.stringify(value.slice(0, 300))} cannot be a path in Git: ${rule}`,
  });
  if (!SLUG.test(target.slug))
    return fault('cluster slug', target.slug, 'it must be a lower-case DNS label of at most 40 characters');
  if (!DNS_LABEL.test(intent.namespace))
    return fault('namespace', intent.namespace, 'it must be a lower-case DNS label');
  if (intent.name.length > 253 || !DNS_SUBDOMAIN.test(intent.name)) {
    return fault('name', intent.name, 'it must be a lower-case DNS name of at most 253 characters');
  }
  const pathProblem = pathFault(manifestPath(rendered)) ?? pathFault(tombstonePath(intent));
  if (pathProblem !== undefined) return fault('name', intent.name, `its path ${pathProblem}`);
  if (Buffer.byteLength(rendered.text) > MAX_MANIFEST_BYTES) {
    return { reason: MANIFEST_TOO_LARGE, message: `the manifest is larger than ${MAX_MANIFEST_BYTES} bytes` };
  }
  return undefined;
}

/** Decides what an intent changes. Pure: the same standing and intent give the same bytes, whoever asks, however often. */
export function decideEdit(rendered: DeliveryItem, standing: Standing): EditDecision {
  const order = orderOf(rendered);
  const text = Buffer.from(rendered.text, 'utf8');
  const kind = rendered.kind === 'apply' ? rendered.object.kind : rendered.tombstone.kind;
  const tombstone =
    standing.tombstone === undefined ? undefined : readTombstoneFacts(standing.tombstone.toString('utf8'));
  const tombstoneIsOurs = tombstone !== undefined && (tombstone.kind === undefined || tombstone.kind === kind);
  if (rendered.kind === 'apply' && !tombstoneIsOurs && standing.manifest?.equals(text) === true)
    return { kind: 'unchanged' };
  if (rendered.kind === 'delete' && standing.manifest === undefined && standing.tombstone?.equals(text) === true) {
    return { kind: 'unchanged' };
  }
  const manifest = standing.manifest === undefined ? undefined : readManifestFacts(standing.manifest.toString('utf8'));
  if (isNewer(manifest?.order, order) || (tombstoneIsOurs && isNewer(tombstone.order, order)))
    return { kind: 'superseded' };
  const subject = commitSubject(rendered, manifest);
  if (rendered.kind === 'delete') {
    return {
      kind: 'write',
      subject,
      edits: [
        { path: manifestPath(rendered), content: undefined },
        { path: tombstonePath(rendered.intent), content: text },
      ],
    };
  }
  const edits = [{ path: manifestPath(rendered), content: text }];
  return {
    kind: 'write',
    subject,
    edits: tombstoneIsOurs ? [...edits, { path: tombstonePath(rendered.intent), content: undefined }] : edits,
  };
}
