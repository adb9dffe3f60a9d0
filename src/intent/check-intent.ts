import { AppError } from '../protocol/app-error.ts';
import type { IntentRequest } from './intent-request.ts';
import { actionDoesNotFitHistory } from './policy/action-does-not-fit-history.ts';
import { actionLacksField } from './policy/action-lacks-field.ts';
import { catalogEntryIsNotAllowed } from './policy/catalog-entry-is-not-allowed.ts';
import { catalogEntryIsUnknown } from './policy/catalog-entry-is-unknown.ts';
import { dependencyGoesInCircle } from './policy/dependency-goes-in-circle.ts';
import { dependencyIsNotAllowed } from './policy/dependency-is-not-allowed.ts';
import { driftIgnoreIsIdle } from './policy/drift-ignore-is-idle.ts';
import { immutableOptionIsChanged } from './policy/immutable-option-is-changed.ts';
import { manifestIsTooLarge } from './policy/manifest-is-too-large.ts';
import { namespaceIsNotAllowed } from './policy/namespace-is-not-allowed.ts';
import { operationTemplateIsNotAllowed } from './policy/operation-template-is-not-allowed.ts';
import { parametersDoNotFit } from './policy/parameters-do-not-fit.ts';
import { sealedValuesDoNotFit } from './policy/sealed-values-do-not-fit.ts';
import { targetNamespaceIsNotAllowed } from './policy/target-namespace-is-not-allowed.ts';
import { versionIsOutsideRange } from './policy/version-is-outside-range.ts';
import type { PolicyContext } from './policy-context.ts';
import type { Rendered } from './rendered.ts';
import type { Violation } from './violation.ts';

type Check = (intent: IntentRequest, context: PolicyContext) => readonly Violation[];

const CHECKS: readonly Check[] = [
  namespaceIsNotAllowed,
  // Before the fields: what an update lacks that has nothing to carry forward is a consequence.
  actionDoesNotFitHistory,
  actionLacksField,
  sealedValuesDoNotFit,
  catalogEntryIsNotAllowed,
  catalogEntryIsUnknown,
  versionIsOutsideRange,
  targetNamespaceIsNotAllowed,
  dependencyIsNotAllowed,
  dependencyGoesInCircle,
  immutableOptionIsChanged,
  driftIgnoreIsIdle,
  operationTemplateIsNotAllowed,
  parametersDoNotFit,
  manifestIsTooLarge,
];

/** Which code answers when violations differ: the size first, then what is forbidden, then what is wrong. */
const PRECEDENCE = ['payload_too_large', 'forbidden', 'constraint_violated'] as const;

/** Every violation of an intent at once; none means it may be rendered and accepted. Call `carryForward` first. */
export function checkIntent(intent: IntentRequest, context: PolicyContext): Violation[] {
  return CHECKS.flatMap((check) => check(intent, context));
}

/**
 * @throws AppError `payload_too_large`, `forbidden` or `constraint_violated` that lists every violation
 */
export function throwIfRefused(violations: readonly Violation[]): void {
  const code = PRECEDENCE.find((candidate) => violations.some((violation) => violation.code === candidate));
  if (code === undefined) return;
  const leading = violations.find((violation) => violation.code === code);
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : '';
  throw new AppError(code, `${leading?.path}: ${leading?.message}${more}`, {
    faults: violations.map(({ code: _code, ...fault }) => fault),
  });
}

/**
 * The last check, once the intent is rendered. `reserve`: bytes that are added later (the signature).
 *
 * @throws AppError `payload_too_large`
 */
export function throwIfTooLarge(intent: IntentRequest, rendered: Pick<Rendered, 'text'>, reserve = 0): void {
  const manifestBytes = Buffer.byteLength(rendered.text, 'utf8') + reserve;
  const nothing = { allowedNamespaces: [], allowedCatalogEntries: [], allowedOperationTemplates: [] };
  throwIfRefused(manifestIsTooLarge(intent, { ...nothing, manifestBytes }));
}
