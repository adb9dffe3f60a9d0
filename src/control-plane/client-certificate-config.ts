import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ClientCertificateSettings } from './http/agent/client-certificates.ts';
import { ConfigError } from './config-error.ts';
import type { ControlPlaneConfig } from './config.ts';
import type { ConfigVariables } from './config-variables.ts';

export interface ClientCertificateConfig {
  /** PEM file of authorities. */
  readonly caFile: string | undefined;
  /** In lower case. Taken from trusted proxies only. */
  readonly header: string | undefined;
}

/** @throws ConfigError for a variable that would have no effect: its user would believe that it has one */
export function readClientCertificates(variables: ConfigVariables): ClientCertificateConfig {
  const {
    SERVICE_TLS_CLIENT_CA: caFile,
    SERVICE_CLIENT_CERT_HEADER: header,
    SERVICE_TRUSTED_PROXIES: proxies,
    SERVICE_TLS_CERT: cert,
  } = variables;
  if (header !== undefined && proxies === undefined) {
    throw new ConfigError(
      'SERVICE_CLIENT_CERT_HEADER',
      'must be set together with SERVICE_TRUSTED_PROXIES: anybody can send a header, and it is taken from those addresses alone',
    );
  }
  if (caFile !== undefined && cert === undefined && header === undefined) {
    throw new ConfigError(
      'SERVICE_TLS_CLIENT_CA',
      'has no effect without SERVICE_TLS_CERT (this server asks for client certificates) or SERVICE_CLIENT_CERT_HEADER (a proxy does)',
    );
  }
  return { caFile, header: header?.toLowerCase() };
}

/**
 * What requests are held against.
 *
 * @throws ConfigError for a file of authorities that cannot be used
 */
export async function clientCertificateSettings(
  config: Pick<ControlPlaneConfig, 'clientCertificates' | 'trustedProxies'>,
): Promise<ClientCertificateSettings> {
  const { header, caFile } = config.clientCertificates;
  return {
    authorities: caFile === undefined ? [] : await readAuthorities(caFile),
    ...(header === undefined ? {} : { header: { name: header, from: config.trustedProxies } }),
  };
}

/** Each as PEM. */
async function readAuthorities(caFile: string): Promise<readonly string[]> {
  const variable = 'SERVICE_TLS_CLIENT_CA';
  let text: string;
  try {
    text = await readFile(caFile, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new ConfigError(variable, `names a file that cannot be read: ${caFile} (${code})`);
  }
  const pems = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (pems.length === 0) throw new ConfigError(variable, `names a file without a PEM certificate: ${caFile}`);
  for (const [index, pem] of pems.entries()) {
    if (!isAuthority(pem)) {
      throw new ConfigError(variable, `certificate ${index + 1} in ${caFile} is not one of an authority`);
    }
  }
  return pems.map((pem) => `${pem}\n`);
}

function isAuthority(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca;
  } catch {
    return false;
  }
}
