import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useId, useRef, useState } from 'preact/hooks';
import { messageOf } from '../api/api-error.ts';
import { Icon } from './icon.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly isWide?: boolean;
}

/** The browser's own modal dialog: it holds the focus, closes on Escape, and gives the focus back to what opened it. */
export function Dialog({ title, onClose, children, isWide = false }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={isWide ? 'wide' : ''}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="bare" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  /** What will happen, and what will not. */
  readonly children: ComponentChildren;
  readonly action: string;
  readonly isDangerous?: boolean;
  /** Has to be typed first: the name of what is lost. */
  readonly typed?: string;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

/** Says what will happen and asks. It closes when the act is done, and says why where it was refused. */
export function ConfirmDialog({
  title,
  children,
  action,
  isDangerous = false,
  typed,
  onConfirm,
  onClose,
}: ConfirmProps): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const [written, setWritten] = useState('');
  const id = useId();
  const confirm = async (): Promise<void> => {
    setBusy(true);
    setFault(undefined);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setFault(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        <div class="content">{children}</div>
        {typed === undefined ? null : (
          <p>
            <label for={id}>
              Type <code>{typed}</code> to go on
            </label>
            <input
              id={id}
              value={written}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => setWritten(event.currentTarget.value)}
            />
          </p>
        )}
        <p class="fault" role="alert">
          {fault}
        </p>
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={isDangerous ? 'danger' : 'main'}
            disabled={isBusy || (typed !== undefined && written !== typed)}
          >
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
