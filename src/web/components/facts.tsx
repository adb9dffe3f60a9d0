import type { ComponentChildren, JSX } from 'preact';

/** Terms with what they stand for; those without a value are left out. */
export function Facts({
  entries,
}: {
  readonly entries: readonly (readonly [string, ComponentChildren])[];
}): JSX.Element {
  return (
    <dl class="facts">
      {entries.map(([term, value]) =>
        value === undefined || value === null || value === false || value === '' ? null : (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
