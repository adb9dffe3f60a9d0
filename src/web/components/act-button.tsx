import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { Scope } from '../../control-plane/access.ts';
import { useWhyNot } from '../me-context.ts';

interface ActButtonProps {
  /** What the act needs. */
  readonly scope: Scope;
  readonly onClick: () => void;
  readonly look?: 'main' | 'danger';
  /** Another reason why it cannot be done now. */
  readonly why?: string | undefined;
  readonly children: ComponentChildren;
}

/** A button for an act. Who may not use it sees it, and is told why; it stays in the order of the keyboard for that. */
export function ActButton({ scope, onClick, look, why, children }: ActButtonProps): JSX.Element {
  const id = useId();
  const reason = useWhyNot(scope) ?? why;
  if (reason === undefined) {
    return (
      <button type="button" class={look ?? ''} onClick={onClick}>
        {children}
      </button>
    );
  }
  return (
    <span class="tipped">
      <button type="button" class={look ?? ''} aria-disabled="true" aria-describedby={id}>
        {children}
      </button>
      <span id={id} class="tip" role="tooltip">
        {reason}
      </span>
    </span>
  );
}
