import type { JSX } from 'preact';
import { CopyButton } from './copyable.tsx';

interface YamlBlockProps {
  readonly text: string;
  readonly label: string;
}

/** A text of several lines as it is, which can be scrolled by the keyboard and copied. */
export function YamlBlock({ text, label }: YamlBlockProps): JSX.Element {
  return (
    <div class="yaml-block">
      <pre tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <CopyButton text={text} what="text" />
    </div>
  );
}
