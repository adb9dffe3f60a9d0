import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from './icon.tsx';

const KEY = 'service-theme';
const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

function stored(): Theme {
  const text = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === text) ?? 'system';
}

/** Puts the theme on the document; before the first drawing, so that nothing flashes. */
export function applyTheme(theme = stored()): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

export function ThemeSwitch(): JSX.Element {
  const [theme, setTheme] = useState(stored);
  const choose = (next: Theme): void => {
    localStorage.setItem(KEY, next);
    applyTheme(next);
    setTheme(next);
  };
  return (
    <fieldset class="segmented">
      <legend class="hidden">Theme</legend>
      {THEMES.map((name) => (
        <label key={name} title={`Theme: ${name}`}>
          <input type="radio" name="theme" value={name} checked={theme === name} onChange={() => choose(name)} />
          <Icon name={name} />
          <span class="hidden">{name}</span>
        </label>
      ))}
    </fieldset>
  );
}
