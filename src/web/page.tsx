import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { isFocusWhereLeft } from './router.ts';

interface PageProps {
  readonly title: string;
  /** In front of the title: where it stands. */
  readonly above?: ComponentChildren;
  /** Behind the title: a state, buttons. */
  readonly beside?: ComponentChildren;
  readonly children: ComponentChildren;
}

let isFirst = true;

/** A view with its heading, which is the title of the tab too and takes the focus when one comes to it. */
export function Page({ title, above, beside, children }: PageProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    document.title = `${title} · service`;
  }, [title]);
  useLayoutEffect(() => {
    // Who comes by a link is read the new heading, but for who has gone on to something else while the view was loaded; the
    // first view of a tab is read from its top.
    if (!isFirst && isFocusWhereLeft()) heading.current?.focus({ preventScroll: true });
    if (!isFirst) scrollTo({ top: 0 });
    isFirst = false;
  }, []);
  return (
    <section class="view">
      {above === undefined ? null : <div class="above">{above}</div>}
      <div class="title">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {beside}
      </div>
      {children}
    </section>
  );
}
