import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const SEQUENCE = 0x30;
const SET = 0x31;
const OID_ECDSA_SHA256 = '2a8648ce3d040302';
const OID_COMMON_NAME = '550403';
const OID_SUBJECT_ALT_NAME = '551d11';
const OID_BASIC_CONSTRAINTS = '551d13';

/** One DER element. */
function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 128) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const length = body.length < 256 ? [0x81, body.length] : [0x82, body.length >> 8, body.length % 256];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

function extension(id: string, value: Buffer): Buffer {
  return der(SEQUENCE, oid(id), der(0x04, value));
}

/**
 * A self-signed certificate for 127.0.0.1, ::1 and localhost, both parts PEM. kubectl sends a bearer token over
 * TLS only, and Node has no function that makes a certificate (RFC 5280, section 4.1). Written out here, since every sandbox
 * makes one as it starts: importing @peculiar/x509 for it takes about 80 ms, and making it another 14, where all of this takes 11.
 */
export function createLoopbackCertificate(): { readonly cert: string; readonly key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = der(SEQUENCE, oid(OID_ECDSA_SHA256));
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, oid(OID_COMMON_NAME), der(0x0c, Buffer.from('sandbox')))));
  // Fixed and wide: a test's clock may stand anywhere, the TLS libraries read the machine's.
  const validity = der(SEQUENCE, der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z')));
  const names = der(
    SEQUENCE,
    der(0x82, Buffer.from('localhost')),
    der(0x87, Buffer.from([127, 0, 0, 1])),
    der(0x87, Buffer.concat([Buffer.alloc(15), Buffer.from([1])])),
  );
  const extensions = der(
    SEQUENCE,
    extension(OID_SUBJECT_ALT_NAME, names),
    extension(OID_BASIC_CONSTRAINTS, der(SEQUENCE, der(0x01, Buffer.from([0xff])))),
  );
  const body = der(
    SEQUENCE,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey));
  const base64 = der(SEQUENCE, body, algorithm, signature).toString('base64');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replaceAll(/.{64}/g, '$&\n').trimEnd()}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
