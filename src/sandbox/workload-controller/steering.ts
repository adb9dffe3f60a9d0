import type { KubeObject } from '../../resources/kube-object.ts';

/** On a workload, a Job or the pod template of either: what becomes of it. */
export const BEHAVIOUR_ANNOTATION = 'sandbox.service.io/behaviour';
/** On a Job or its pod template: what its pod writes. */
export const POD_LOG_ANNOTATION = 'sandbox.service.io/log';

/** `succeeds`, unless told otherwise; `hangs`: it stays in the middle; `fails`: its controller gives it up. */
export type Behaviour = 'succeeds' | 'hangs' | 'fails';

interface Template {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } | null;
  readonly spec?: {
    readonly containers?: readonly { readonly command?: readonly string[]; readonly args?: readonly string[] }[];
  };
}

function templateOf(object: KubeObject): Template | undefined {
  return (object['spec'] as { readonly template?: Template } | undefined)?.template;
}

export function annotationOf(object: KubeObject, name: string): string | undefined {
  return object.metadata.annotations?.[name] ?? templateOf(object)?.metadata?.annotations?.[name];
}

/** By the annotation; a Job's also by its command, as far as it is `false`, `exit 1` or `sleep`. */
export function behaviourOf(object: KubeObject): Behaviour {
  const told = annotationOf(object, BEHAVIOUR_ANNOTATION);
  if (told === 'hangs' || told === 'fails') return told;
  const words = wordsOf(object);
  if (words[0] === 'false' || /\bexit [1-9]/.test(words.join(' '))) return 'fails';
  return words.some((word) => /\bsleep\b/.test(word)) ? 'hangs' : 'succeeds';
}

/** By the annotation; else what an `echo` writes. */
export function logOf(object: KubeObject): string {
  const [command, ...words] = wordsOf(object);
  return annotationOf(object, POD_LOG_ANNOTATION) ?? (command === 'echo' ? `${words.join(' ')}\n` : '');
}

function wordsOf(object: KubeObject): readonly string[] {
  const [container] = templateOf(object)?.spec?.containers ?? [];
  return object.kind === 'Job' ? [...(container?.command ?? []), ...(container?.args ?? [])] : [];
}
