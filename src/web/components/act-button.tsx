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
  const refused = reason === undefined ? { onClick } : ({ 'aria-disabled': 'true', 'aria-describedby': id } as const);
  // The same button while the reason comes and goes: it keeps the focus, and a press that has begun.
  return (
    <span class="tipped">
      <button type="button" class={look ?? ''} {...refused}>
        {children}
      </button>
      {reason === undefined ? null : (
        <span id={id} class="tip" role="tooltip">
          {reason}
        </span>
      )}
    </span>
  );
}
