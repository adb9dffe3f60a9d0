import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { isNotTaken } from '../../kube/read-failure.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { FIELD_MANAGER, OPERATION_UID_LABEL } from '../../resources/labels.ts';
import type { Operation } from '../../resources/operation.ts';
import type { OutputRef } from './template-runner.ts';

/** Bytes of the text that are kept. */
export const MAX_OUTPUT_BYTES = 32_768;
const KEY = 'output';
const LONGEST_NAME = 253;

/**
 * Keeps what an operation said in the ConfigMap `<operation>-output` beside it, which goes with it. Doing it again writes the
 * same. A ConfigMap of that name that is another's is left alone, and the operation's UID is put behind the name.
 *
 * @returns where it is kept, or why the server will not have it
 * @throws KubeError
 */
export async function keepOutput(
  api: ClusterApi,
  operation: Operation,
  text: string,
  signal: AbortSignal,
): Promise<OutputRef | string> {
  const { namespace = '', uid = '' } = operation.metadata;
  for (const name of [nameOf(operation, '-output'), nameOf(operation, `-output-${uid.slice(0, 8)}`)]) {
    const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name };
    try {
      const live = await api.get<KubeObject>(ref, signal);
      if (live !== undefined && live.metadata.labels?.[OPERATION_UID_LABEL] !== uid) continue;
      await api.apply(outputMap(operation, name, text), { fieldManager: FIELD_MANAGER, force: true }, signal);
      return ref;
    } catch (error) {
      if (error instanceof KubeError && isNotTaken(error)) return error.message;
      throw error;
    }
  }
  return `ConfigMap ${nameOf(operation, '-output')} is another's`;
}

/** As much of the text as is kept; says where it was cut. */
export function cutOutput(text: string): string {
  const bytes = Buffer.from(text.toWellFormed(), 'utf8');
  if (bytes.length <= MAX_OUTPUT_BYTES) return text.toWellFormed();
  const note = `\n[cut: ${bytes.length} bytes in all]\n`;
  // Bytes of a character that was cut in two are left out.
  const head = new TextDecoder().decode(bytes.subarray(0, MAX_OUTPUT_BYTES - note.length), { stream: true });
  return head + note;
}

function outputMap(operation: Operation, name: string, text: string): KubeObject {
  const { apiVersion, kind, metadata } = operation;
  const { namespace = '', uid = '' } = metadata;
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name,
      namespace,
      labels: { [OPERATION_UID_LABEL]: uid },
      ownerReferences: [{ apiVersion, kind, name: metadata.name, uid }],
    },
    data: { [KEY]: cutOutput(text) },
  };
}

function nameOf({ metadata }: Operation, suffix: string): string {
  return metadata.name.slice(0, LONGEST_NAME - suffix.length).replace(/[-.]+$/, '') + suffix;
}
