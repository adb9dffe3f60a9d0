import { customResourceDefinition, type ResourceDefinition } from '../../src/resources/crd.ts';
import { RESOURCE_DEFINITIONS } from '../../src/resources/resource-definitions.ts';
import { code, list, parts, prose, sentence, table } from './markdown.ts';
import { fieldItems, type Schema } from './schema-fields.ts';

interface DefinitionObject {
  readonly spec: { readonly versions: readonly [{ readonly schema: { readonly openAPIV3Schema: Schema } }] };
}

/** The custom resources: what each is called, its fields, its rules and what `kubectl get` shows. */
export function crdsPage(): string {
  return parts(
    '# Custom resources',
    'Made from `src/resources`, as are the definitions in `crds/`; those in `crds/cel/` have the rules in CEL besides. A name that is not here is pruned by the API server. `spec.list[].member` stands for a member of each item, `*` for any name.',
    ...RESOURCE_DEFINITIONS.map(section),
  );
}

function section(definition: ResourceDefinition): string {
  const { kind, group, version, plural, shortNames, categories, description, rules, columns } = definition;
  const { spec } = customResourceDefinition(definition) as unknown as DefinitionObject;
  const { properties = {} } = spec.versions[0].schema.openAPIV3Schema;
  return parts(
    `## ${kind}`,
    prose(description),
    `\`apiVersion: ${group}/${version}\`, namespaced; \`kubectl get ${plural}\`, for short ${shortNames.map(code).join(', ')}, together with others ${categories.map(code).join(', ')}.`,
    `### Spec of ${kind}`,
    list(fieldItems(properties['spec'] ?? {}, 'spec')),
    rules.length === 0 ? '' : `### Rules of ${kind}`,
    rules.length === 0 ? '' : list(rules.map(({ at, message }) => `${code(at)}: ${sentence(prose(message))}`)),
    `### Status of ${kind}`,
    list(fieldItems(properties['status'] ?? {}, 'status')),
    `### Columns of ${kind}`,
    table(
      ['Column', 'Shows', 'When'],
      columns.map(({ name, jsonPath, priority = 0 }) => [
        name,
        code(jsonPath),
        priority === 0 ? 'always' : '`-o wide`',
      ]),
    ),
  );
}
