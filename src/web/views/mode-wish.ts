import type { Mode } from '../api/mode-switches.ts';

/** What is filled in of a switch. */
export interface ModeWish {
  readonly mode: Mode | undefined;
  readonly kubeconfig: string;
  readonly repository: string;
  readonly review: '' | 'direct' | 'proposal';
  readonly closeProposals: boolean;
}

export const NO_WISH: ModeWish = { mode: undefined, kubeconfig: '', repository: '', review: '', closeProposals: false };

/** Body of `POST /clusters/{id}/mode`: of each mode only what belongs to it. */
export function wishOf({ mode, kubeconfig, repository, review, closeProposals }: ModeWish) {
  const git = {
    ...(repository === '' ? {} : { repository }),
    ...(review === '' ? {} : { review }),
  };
  return {
    mode,
    ...(mode === 'push' && kubeconfig.trim() !== '' ? { push: { kubeconfig } } : {}),
    ...(mode === 'gitops' && Object.keys(git).length > 0 ? { git } : {}),
    ...(closeProposals ? { closeProposals } : {}),
  };
}

export function whyNotWished({ mode, kubeconfig }: ModeWish, from: Mode): string | undefined {
  if (mode === undefined) return 'Choose the mode first.';
  if (mode === from) return `It is in ${from} mode already.`;
  if (mode === 'push' && kubeconfig.trim() === '') return 'Push mode needs a kubeconfig: paste it above.';
  return undefined;
}
