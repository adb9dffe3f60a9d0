import { manifestText } from '../intent/manifest-text.ts';
import type { Rendered } from '../intent/rendered.ts';
import { tombstoneText } from '../intent/render.ts';
import { INTENT_ID_ANNOTATION, SIGNATURE_ANNOTATION } from '../resources/labels.ts';
import { signedContent, signedContext, withSignature } from '../resources/signed-object.ts';
import type { PayloadSigner } from './payload-signer.ts';

/** The most that a signature adds to a manifest. */
export const SIGNATURE_BYTES = 1024;

/**
 * A rendered intent as it is delivered in every mode: with the control plane's signature in it, in Git as in a job. Signing
 * the same twice gives the same bytes, so that a repeated delivery changes nothing.
 */
export async function signRendered(signer: Pick<PayloadSigner, 'sign'>, rendered: Rendered): Promise<Rendered> {
  const { clusterId } = rendered.target;
  if (rendered.kind === 'delete') {
    const { signature: _signature, ...tombstone } = rendered.tombstone;
    const context = { kind: 'delete', idempotencyKey: rendered.idempotencyKey } as const;
    const signed = { ...tombstone, signature: await signer.sign(clusterId, tombstone, context) };
    return { ...rendered, tombstone: signed, text: tombstoneText(signed) };
  }
  const context = signedContext(rendered.object);
  if (context === undefined) throw new TypeError('a rendered object has no source annotation');
  const signature = await signer.sign(clusterId, signedContent(rendered.object), context);
  const object = withSignature(rendered.object, signature);
  return { ...rendered, object, text: insertSignature(rendered.text, signature) ?? manifestText(object) };
}

const INTENT_ID_LINE = new RegExp(`^    ${INTENT_ID_ANNOTATION.replaceAll('.', '\\.')}: .*\\n`, 'm');

/** The line that `manifestText` would write, put behind the last annotation: writing it all again costs as much as rendering. */
function insertSignature(text: string, signature: string): string | undefined {
  const line = INTENT_ID_LINE.exec(text);
  if (line === null) return undefined;
  const at = line.index + line[0].length;
  return `${text.slice(0, at)}    ${SIGNATURE_ANNOTATION}: ${signature}\n${text.slice(at)}`;
}
