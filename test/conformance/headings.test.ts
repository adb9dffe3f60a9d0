import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHECKS } from './checks.ts';
import { OPERATOR_CHECKS } from './operator/operator-checks.ts';
import { PAGE } from './sections.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/spec/agent-protocol.md'), 'utf8');
const headings = [...page.matchAll(/^#{2,3} (.+)$/gm)].map(([, heading = '']) => heading);

describe('a check', () => {
  it('names a heading of docs/spec/agent-protocol.md that there is', () => {
    const named = [...CHECKS, ...OPERATOR_CHECKS].map(({ id, heading }) => ({ id, heading }));
    expect(named.filter(({ heading }) => !headings.includes(heading))).toEqual([]);
    expect(Object.values(PAGE).filter((heading) => !named.some((check) => check.heading === heading))).toEqual([]);
  });
});
