import { describe, expect, it } from 'vitest';
import { intentIdempotencyKey } from '../../src/intent/intent-key.ts';
import type { IntentRecord } from '../../src/intent/intent-record.ts';
import { canonicalJson } from '../../src/protocol/canonical-json.ts';
import type { Condition, ResourceRef } from '../../src/protocol/condition.ts';
import {
  conditionTransitionKey,
  directEventKey,
  eventFingerprint,
  heartbeatKey,
} from '../../src/protocol/event-key.ts';
import { objectIdempotencyKey } from '../../src/protocol/idempotency-key.ts';
import { readVectors } from '../vectors/read-vectors.ts';

const events = readVectors<{
  transitions: { name: string; resourceRef: ResourceRef; condition: Condition; eventKey: string }[];
  direct: { kind: Parameters<typeof directEventKey>[0]; uid: string; last: string; eventKey: string }[];
  heartbeats: { uid: string; timestamp: string; eventKey: string }[];
  fingerprints: { name: string; conditions: Condition[]; fingerprint: string }[];
}>('event-keys');
const idempotency = readVectors<{
  objects: { kind: string; namespace: string; name: string; generation: number; idempotencyKey: string }[];
  intents: { name: string; record: IntentRecord; canonical: string; idempotencyKey: string }[];
}>('idempotency-keys');

describe('event keys', () => {
  it.each(events.transitions)('of a transition $name', ({ resourceRef, condition, eventKey }) => {
    expect(conditionTransitionKey(resourceRef, condition)).toBe(eventKey);
  });

  it.each(events.direct)('of $kind', ({ kind, uid, last, eventKey }) => {
    expect(directEventKey(kind, uid, last)).toBe(eventKey);
  });

  it.each(events.heartbeats)('of a heartbeat at $timestamp', ({ uid, timestamp, eventKey }) => {
    expect(heartbeatKey(uid, timestamp)).toBe(eventKey);
  });

  it.each(events.fingerprints)('come with the fingerprint of $name', ({ conditions, fingerprint }) => {
    expect(eventFingerprint({ conditions })).toBe(fingerprint);
  });
});

describe('idempotency keys', () => {
  it.each(idempotency.objects)('of $kind $namespace/$name', ({ kind, namespace, name, generation, idempotencyKey }) => {
    expect(objectIdempotencyKey(kind, namespace, name, generation)).toBe(idempotencyKey);
  });

  it.each(idempotency.intents)('of $name', ({ record, canonical, idempotencyKey }) => {
    const { id: _id, requestedBy: _by, requestedAt: _at, reason: _reason, ...effect } = record;
    expect(canonicalJson(effect)).toBe(canonical);
    expect(intentIdempotencyKey(record)).toBe(idempotencyKey);
  });
});
