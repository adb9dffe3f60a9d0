import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './components/icon.tsx';
import { go, useAddress } from './router.ts';

/** The field in the bar. `/` goes to it from everywhere, Enter to what was found. */
export function SearchBox(): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const { path, parameters } = useAddress();
  const asked = path === '/search' ? (parameters.get('q') ?? '') : '';
  const [text, setText] = useState(asked);
  // Before anything can be typed: an effect after the paint would take it away again.
  useLayoutEffect(() => setText(asked), [asked]);
  useLayoutEffect(() => {
    const open = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      field.current?.focus();
      field.current?.select();
    };
    addEventListener('keydown', open);
    return () => removeEventListener('keydown', open);
  }, []);
  const search = (event: Event): void => {
    event.preventDefault();
    const q = text.trim();
    if (q !== '') go('/search', { q });
  };
  return (
    <form class="search-box" role="search" aria-label="Everything" onSubmit={search}>
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        aria-label="Search over everything"
        aria-keyshortcuts="/"
        placeholder="Search"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable], dialog') !== null;
}
