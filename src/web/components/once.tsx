import type { ComponentChildren, JSX } from 'preact';
import { CopyButton } from './copyable.tsx';
import { Dialog } from './dialog.tsx';

interface OnceProps {
  readonly title: string;
  readonly what: string;
  readonly secret: string;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

/** A secret that is shown when it is made and never again. */
export function OnceDialog({ title, what, secret, onClose, children }: OnceProps): JSX.Element {
  return (
    <Dialog title={title} onClose={onClose}>
      <div>
        <p>This is the only time that it is shown. Put it where it belongs before you close this.</p>
        <p class="once">
          <code>{secret}</code>
          <CopyButton text={secret} what={what} />
        </p>
        {children}
        <div class="buttons">
          <button type="button" class="main" onClick={onClose}>
            I have it
          </button>
        </div>
      </div>
    </Dialog>
  );
}
