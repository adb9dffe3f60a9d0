import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { bundleOf, planCertificates, type WebhookKeys } from '../../../src/operator/webhook/certificate-plan.ts';
import { issueAuthority, issueServing, webhookNames } from '../../../src/operator/webhook/webhook-certificate.ts';
import { Secret } from '../../../src/runtime/secret.ts';

const DAY_MS = 86_400_000;
const START = new Date('2026-03-01T10:00:00Z');
const names = webhookNames('service-system');
const NOTHING = { start: false, authority: false, serving: false, forget: [] };
const after = (days: number): Date => new Date(START.getTime() + days * DAY_MS);
const at = (days: number, published = true) => ({ names, published, now: after(days) });

async function newKeys(): Promise<WebhookKeys> {
  const authority = await issueAuthority(START);
  return { authority, retired: [], serving: await issueServing(authority, names, START) };
}

it('keeps what is good, renews at two thirds, and starts anew from what cannot be read', async () => {
  const keys = await newKeys();
  expect(planCertificates(keys, at(59))).toEqual(NOTHING);
  expect(planCertificates(keys, at(61))).toEqual({ ...NOTHING, serving: true });
  expect(planCertificates(undefined, at(0))).toEqual({ ...NOTHING, start: true });
  const broken = { ...keys, serving: { ...keys.serving, key: new Secret('x') } };
  expect(planCertificates(broken, at(0))).toEqual({ ...NOTHING, start: true });
  const swapped = { ...keys, serving: { ...keys.serving, key: keys.authority.key } };
  expect(planCertificates(swapped, at(0))).toEqual({ ...NOTHING, start: true });
});

it('lets a new authority serve once it is trusted, and forgets the old one when nothing of it is valid', async () => {
  const old = await newKeys();
  const rotated = 2440;
  const serving = await issueServing(old.authority, names, after(rotated));
  expect(planCertificates({ ...old, serving }, at(rotated)).authority).toBe(true);
  const authority = await issueAuthority(after(rotated));
  const both: WebhookKeys = { authority, retired: [old.authority.certificate], serving };
  expect(planCertificates(both, at(rotated, false))).toEqual(NOTHING);
  expect(planCertificates(both, at(rotated))).toEqual({ ...NOTHING, serving: true });
  expect(bundleOf(both).match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  const next = { ...both, serving: await issueServing(authority, names, after(rotated)) };
  expect(planCertificates(next, at(rotated + 59)).forget).toEqual([]);
  expect(planCertificates(next, at(rotated + 91)).forget).toEqual([old.authority.certificate]);
});

it('signs for the names of the Service and this machine, and for no more than a server', async () => {
  const keys = await newKeys();
  const [authority, serving] = [keys.authority, keys.serving].map(
    ({ certificate }) => new X509Certificate(certificate),
  );
  expect(serving?.subjectAltName).toBe(`${names.map((name) => `DNS:${name}`).join(', ')}, IP Address:127.0.0.1`);
  expect([authority?.ca, serving?.ca]).toEqual([true, false]);
  expect(JSON.stringify(keys)).not.toContain('PRIVATE KEY');
});
