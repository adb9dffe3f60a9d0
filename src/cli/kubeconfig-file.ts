import { CliError, EXIT } from './cli-error.ts';
import { readInput } from './read-input.ts';

/** The text of a kubeconfig for the control plane; `-` is standard input. Never an argument: those are readable by all. */
export async function readKubeconfigFile(file: string): Promise<string> {
  const text = await readInput(file, `the kubeconfig ${file}`);
  if (text.trim() === '') throw new CliError(EXIT.usage, `the kubeconfig ${file} is empty`);
  return text;
}
