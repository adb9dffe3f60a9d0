import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useId, useRef, useState } from 'preact/hooks';
import { go, setParameters, useAddress } from '../router.ts';
import { copy } from './copyable.tsx';
import { Icon } from './icon.tsx';

const PAUSE_MS = 250;
/** Others are folded on a phone. */
const ALWAYS_SHOWN = 2;

export interface FilterField {
  /** Of the parameter in the address, which the API has too. */
  readonly name: string;
  readonly label: string;
  /** A choice; without them text is typed. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  readonly placeholder?: string;
  /** `date`: a day, by the browser's own calendar. */
  readonly kind?: 'search' | 'date';
}

interface FilterBarProps {
  readonly label: string;
  readonly fields: readonly FilterField[];
  /** What was found, in words; said to a screen reader when it changes. */
  readonly found?: string | undefined;
  readonly children?: ComponentChildren;
}

/** Filters of a list. Each of them is in the address, so that what is seen can be shared as a link. */
export function FilterBar({ label, fields, found, children }: FilterBarProps): JSX.Element {
  const { path, parameters } = useAddress();
  const [isOpen, setOpen] = useState(false);
  const folded = fields.slice(ALWAYS_SHOWN);
  const given = folded.filter(({ name }) => parameters.has(name)).length;
  const isFiltered = fields.some(({ name }) => parameters.has(name));
  return (
    <form
      class={isOpen ? 'filters open' : 'filters'}
      role="search"
      aria-label={label}
      onSubmit={(event) => event.preventDefault()}
    >
      {fields.map((field, place) => (
        <Filter
          key={field.name}
          field={field}
          value={parameters.get(field.name) ?? ''}
          isFolded={place >= ALWAYS_SHOWN}
        />
      ))}
      <div class="filter-acts">
        {folded.length > 0 && (
          <button type="button" class="more" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Fewer filters' : `More filters${given === 0 ? '' : ` (${given} set)`}`}
          </button>
        )}
        {children}
        {isFiltered ? (
          <button type="button" onClick={() => go(path)}>
            <Icon name="close" /> Clear
          </button>
        ) : null}
        <button type="button" onClick={() => void copy(location.href, 'link to this list')}>
          <Icon name="link" /> Copy link
        </button>
      </div>
      <p class="found quiet" role="status">
        {found}
      </p>
    </form>
  );
}

/** Another filter begins at the first page again. */
const set = (name: string, value: string, how: 'push' | 'replace'): void =>
  setParameters({ [name]: value, cursor: undefined }, how);

interface FilterProps {
  readonly field: FilterField;
  readonly value: string;
  readonly isFolded: boolean;
}

function Filter({ field, value, isFolded }: FilterProps): JSX.Element {
  const id = useId();
  const { name, label, options } = field;
  return (
    <div class={isFolded ? 'filter filter-more' : 'filter'}>
      <label for={id}>{label}</label>
      {options === undefined ? (
        <TextFilter id={id} field={field} value={value} />
      ) : (
        <select id={id} value={value} onChange={(event) => set(name, event.currentTarget.value, 'push')}>
          <option value="">any</option>
          {options.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

interface TextFilterProps {
  readonly id: string;
  readonly field: FilterField;
  readonly value: string;
}

/** Typed text goes to the address after a short pause. */
function TextFilter({ id, field: { name, placeholder, kind = 'search' }, value }: TextFilterProps): JSX.Element {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  useLayoutEffect(() => {
    // The address was changed by something else: the back button, a saved filter.
    if (value !== sent.current) setText(value);
    sent.current = value;
  }, [value]);
  useLayoutEffect(() => {
    if (text === sent.current) return undefined;
    const timer = setTimeout(() => {
      sent.current = text.trim();
      set(name, text.trim(), 'replace');
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, name]);
  const attributes = {
    id,
    value: text,
    onInput: (event: Event & { readonly currentTarget: HTMLInputElement }) => setText(event.currentTarget.value),
  };
  if (kind === 'date') return <input type="date" {...attributes} />;
  return <input type="search" autocomplete="off" spellcheck={false} placeholder={placeholder ?? ''} {...attributes} />;
}
