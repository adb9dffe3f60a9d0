import { CONFIG_PURPOSES } from '../../src/control-plane/config-purposes.ts';
import { ConfigVariables } from '../../src/control-plane/config-variables.ts';
import { OPERATOR_VARIABLES } from '../../src/operator/config.ts';
import { code, parts, prose, table } from './markdown.ts';
import type { Schema } from './schema-fields.ts';

const HEAD = ['Variable', 'What for', 'Without it', 'Takes', 'Pattern'];

export function configurationPage(): string {
  return parts(
    '# Configuration',
    'Both programs are set up by environment variables and read them once. An unknown `SERVICE_…` variable, an empty one or one that cannot be read stops the start with one line that names it. [operations.md](../operations.md) says how they go together.',
    '## Control plane',
    table(HEAD, Object.entries(ConfigVariables.properties).map(controlPlaneRow)),
    '## Operator',
    table(
      HEAD.slice(0, -1),
      Object.entries(OPERATOR_VARIABLES).map(([name, { purpose, absent, expects }]) => [
        code(name),
        prose(purpose),
        prose(absent),
        prose(expects),
      ]),
    ),
  );
}

function controlPlaneRow([name, schema]: [string, object]): string[] {
  const { description = '', pattern, enum: choices } = schema as Schema;
  const { purpose, absent = '–' } = CONFIG_PURPOSES[name as keyof ConfigVariables];
  const takes = choices === undefined ? prose(description) : choices.map((choice) => code(String(choice))).join(', ');
  return [code(name), prose(purpose), prose(absent), takes, pattern === undefined ? '' : code(pattern as string)];
}
