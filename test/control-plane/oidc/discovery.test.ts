import { describe, expect, it } from 'vitest';
import { discoveryAddress, isSafeAddress, readMetadata } from '../../../src/control-plane/oidc/discovery.ts';

const ISSUER = 'https://id.example.com/realms/team';
const DOCUMENT = {
  issuer: ISSUER,
  jwks_uri: 'https://id.example.com/keys',
  authorization_endpoint: 'https://id.example.com/auth',
  token_endpoint: 'https://id.example.com/token',
  claims_supported: ['sub'],
};

describe('the discovery document', () => {
  it('is below the issuer, with and without a slash at its end', () => {
    const address = 'https://id.example.com/realms/team/.well-known/openid-configuration';
    expect([discoveryAddress(ISSUER), discoveryAddress(`${ISSUER}/`)]).toEqual([address, address]);
  });

  it('is taken with members that are not known here', () => {
    expect(readMetadata(DOCUMENT, ISSUER)).toMatchObject({ issuer: ISSUER, jwks_uri: DOCUMENT.jwks_uri });
  });

  it.for([
    ['of another issuer', { issuer: 'https://id.example.com' }, /is of the issuer https:\/\/id\.example\.com;/],
    ['whose issuer differs by a slash', { issuer: `${ISSUER}/` }, /must be exactly that/],
    ['whose keys come over plain HTTP', { jwks_uri: 'http://id.example.com/keys' }, /jwks_uri .* not an https/],
    ['that names no address', { token_endpoint: 'javascript:alert(1)' }, /token_endpoint .* not an https/],
    ['without keys', { jwks_uri: undefined }, /jwks_uri/],
  ] as const)('is refused %s', ([, change, says]) => {
    expect(() => readMetadata({ ...DOCUMENT, ...change }, ISSUER)).toThrow(says);
  });

  it.for([
    ['https://id.example.com', true],
    ['http://127.0.0.1:8080', true],
    ['http://[::1]:8080', true],
    ['http://localhost:8080', true],
    ['http://localhost.example.com', false],
    ['https://me:secret@id.example.com', false],
    ['file:///etc/passwd', false],
    ['id.example.com', false],
  ] as const)('is sent for at %s: %s', ([address, isSafe]) => {
    expect(isSafeAddress(address)).toBe(isSafe);
  });
});
