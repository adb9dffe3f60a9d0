import { useEffect, useState } from 'preact/hooks';
import type * as yamlText from './yaml-text.ts';

export type YamlText = typeof yamlText;

let loaded: YamlText | undefined;

/** Reading and writing of YAML, loaded when a form first needs it; undefined until it is there. */
export function useYaml(): YamlText | undefined {
  const [yaml, setYaml] = useState(loaded);
  useEffect(() => {
    if (loaded !== undefined) return undefined;
    let isLeft = false;
    void import('./yaml-text.ts').then((module) => {
      loaded = module;
      if (!isLeft) setYaml(module);
    });
    return () => (isLeft = true);
  }, []);
  return yaml;
}
