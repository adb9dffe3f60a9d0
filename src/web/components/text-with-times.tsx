import type { JSX } from 'preact';
import { When } from './when.tsx';

const TIME = /(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z)/;

/** A text of the control plane, in which times are shown as everywhere else. */
export function TextWithTimes({ text }: { readonly text: string }): JSX.Element {
  return (
    <>
      {text
        .split(TIME)
        .map((piece, place) => (place % 2 === 1 ? <When key={place} at={piece} isFocusable={false} /> : piece))}
    </>
  );
}
