import { createTwoFilesPatch } from 'diff';
import type { IntentRecord } from '../intent/intent-record.ts';
import { renderIntent, type RenderInputs } from '../intent/render.ts';
import type { Rendered, RenderTarget } from '../intent/rendered.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import type { IntentRow } from './store/schema.ts';

/** Lines that differ beyond which nothing is told: nobody reads that, and it takes the square of it. */
const MAX_EDITS = 4000;

/**
 * What the manifest that would be delivered changes of the one that stands, as a unified diff; empty where nothing would
 * change. What only counts and names the intent (id, generation, who asked and when) is the same on both sides.
 *
 * @param standing the intent whose manifest stands; absent: nothing does
 * @param inputsNow for what was delivered before its inputs were kept
 * @returns undefined where what stands cannot be rendered any more, or too much differs
 */
export function manifestDiff(
  rendered: Rendered,
  standing: IntentRow | undefined,
  inputsNow: RenderInputs,
): string | undefined {
  const { intent, target } = rendered;
  const path = `${intent.namespace}/${intent.name}.yaml`;
  const before =
    standing === undefined || standing.state === 'removed' ? '' : textOf(standing, intent, target, inputsNow);
  if (before === undefined) return undefined;
  const after = rendered.kind === 'delete' ? '' : rendered.text;
  if (before === after) return '';
  const names = [before === '' ? '/dev/null' : `a/${path}`, after === '' ? '/dev/null' : `b/${path}`] as const;
  const patch = createTwoFilesPatch(...names, before, after, undefined, undefined, { maxEditLength: MAX_EDITS });
  // The line of equal signs above says nothing.
  return patch?.slice(patch.indexOf('--- '));
}

function textOf(
  standing: IntentRow,
  { id, generation, requestedBy, requestedAt, reason }: IntentRecord,
  target: RenderTarget,
  inputsNow: RenderInputs,
): string | undefined {
  const { reason: _, ...record } = parseExactJson(standing.record) as IntentRecord;
  if (record.action === 'uninstall') return '';
  const kept = standing.render_inputs === null ? inputsNow : (JSON.parse(standing.render_inputs) as RenderInputs);
  // An approval is of one intent, and no part of what was asked for.
  const { approval: _of, ...inputs } = kept;
  const same = { id, generation, requestedBy, requestedAt, ...(reason === undefined ? {} : { reason }) };
  try {
    return renderIntent({ ...record, ...same }, target, inputs).text;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
