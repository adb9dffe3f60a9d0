import { readFileSync } from 'node:fs';
import { CliError, EXIT } from './cli-error.ts';

/** The text of a kubeconfig for the control plane; `-` is standard input. Never an argument: those are readable by all. */
export function readKubeconfigFile(file: string): string {
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new CliError(EXIT.usage, `the kubeconfig ${file} cannot be read (${code})`);
  }
  if (text.trim() === '') throw new CliError(EXIT.usage, `the kubeconfig ${file} is empty`);
  return text;
}
