import type { JSX } from 'preact';
import { Icon } from './icon.tsx';
import { toast } from './toast.tsx';

interface CopyableProps {
  readonly text: string;
  /** What it is, for who hears it: "id of the intent". */
  readonly what: string;
  /** Characters shown; all of it is copied. */
  readonly shown?: number;
}

/** An id, command or digest with a button that copies all of it. */
export function Copyable({ text, what, shown }: CopyableProps): JSX.Element {
  const isCut = shown !== undefined && text.length > shown;
  return (
    <span class="copyable">
      <code {...(isCut ? { title: text } : {})}>{isCut ? text.slice(0, shown) : text}</code>
      <CopyButton text={text} what={what} />
    </span>
  );
}

export function CopyButton({ text, what }: Omit<CopyableProps, 'shown'>): JSX.Element {
  return (
    <button type="button" class="bare" aria-label={`Copy the ${what}`} onClick={() => void copy(text, what)}>
      <Icon name="copy" />
    </button>
  );
}

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without TLS, and not on this machine, a browser gives no clipboard; this way it does.
    const field = document.createElement('textarea');
    field.value = text;
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand('copy');
    field.remove();
    if (!isCopied) {
      toast(`The browser does not let the ${what} be copied: select it by hand`, 'fault');
      return;
    }
  }
  toast(`Copied the ${what}`);
}
