import { OPERATOR_NAMESPACE, REGISTRATION_SECRET } from '../resources/labels.ts';

export interface InstallLinks {
  /** The cluster's slug: the name of its Cluster resource. */
  readonly slug: string;
  readonly crdsUrl: string;
  readonly operatorUrl: string;
}

export interface InstallStep {
  readonly title: string;
  readonly command: string;
}

/**
 * Makes the Secret with the registration token out of standard input, or replaces it: the token is in no argument and in
 * no shell's history (`printf` is of the shell itself), and applied by the server it is not copied into an annotation
 * either. Without a token, as when the program before the pipe is not there, it makes none: `kubectl` would make an empty one.
 */
export const REGISTRATION_SECRET_COMMAND =
  `( read -r token || true; test -n "$token" || { echo 'there is no registration token on standard input' >&2; exit 1; }; ` +
  `printf '%s\\n' "$token" | kubectl --namespace ${OPERATOR_NAMESPACE} create secret generic ${REGISTRATION_SECRET} --from-file=token=/dev/stdin ` +
  '--dry-run=client --output=yaml | kubectl apply --server-side --force-conflicts --filename=- )';

/** What a cluster's admin runs, in this order. The second reads the registration token from standard input. */
export function installSteps({ slug, crdsUrl, operatorUrl }: InstallLinks): readonly InstallStep[] {
  return [
    { title: 'The namespace and the custom resource definitions.', command: `kubectl apply -f ${quoted(crdsUrl)}` },
    { title: 'The registration token, from standard input.', command: REGISTRATION_SECRET_COMMAND },
    { title: 'The operator.', command: `kubectl apply -f ${quoted(operatorUrl)}` },
    untilRegistered(slug),
  ];
}

/** The same for an operator that is there and is refused: it takes the token and registers again. */
export function recoverySteps(slug: string): readonly InstallStep[] {
  return [
    { title: 'The registration token, from standard input.', command: REGISTRATION_SECRET_COMMAND },
    untilRegistered(slug),
  ];
}

function untilRegistered(slug: string): InstallStep {
  return {
    title: 'Until it has registered.',
    command: `kubectl --namespace ${OPERATOR_NAMESPACE} wait --for=condition=Authenticated clusters.ops.service.io/${slug} --timeout=180s`,
  };
}

/** One word of a POSIX shell, whatever it holds. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
