import { createHash } from 'node:crypto';
import { canonicalJson } from '../protocol/canonical-json.ts';
import type { OperationTemplateDefinition } from '../protocol/operation-template.ts';

/**
 * `sha256-` and the base64url SHA-256 of what an admin's template does: its schema and what it runs, not how long it may
 * take or how it is described. An operation carries it, so that it runs what was asked for and approved or does not run.
 * Undefined for a built-in template: what that does changes only with the operator's version.
 */
export function definitionHash(definition: OperationTemplateDefinition | undefined): string | undefined {
  if (definition?.run === undefined) return undefined;
  const { parameters = null, run } = definition;
  return `sha256-${createHash('sha256').update(canonicalJson({ parameters, run }), 'utf8').digest('base64url')}`;
}
