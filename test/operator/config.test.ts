import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../src/operator/config.ts';

const DEFAULTS = {
  namespace: 'service-system',
  kubeconfig: { kind: 'in-cluster' },
  stateDir: '/var/lib/service-operator',
  logLevel: 'info',
};

describe('the environment of the operator', () => {
  it('may be empty', () => {
    expect(readConfig({ HOME: '/root', PATH: '/bin' })).toEqual(DEFAULTS);
  });

  it('is read whole', () => {
    expect(
      readConfig({
        SERVICE_OPERATOR_NAMESPACE: 'ops',
        SERVICE_OPERATOR_KUBECONFIG: '/etc/kubeconfig',
        SERVICE_OPERATOR_LISTEN: '127.0.0.1:9443',
        SERVICE_OPERATOR_STATE_DIR: '/data',
        SERVICE_LOG_LEVEL: 'debug',
      }),
    ).toEqual({
      namespace: 'ops',
      kubeconfig: { kind: 'file', path: '/etc/kubeconfig' },
      listen: { host: '127.0.0.1', port: 9443 },
      stateDir: '/data',
      logLevel: 'debug',
    });
  });

  it.each([
    ['8443', { host: '0.0.0.0', port: 8443 }],
    ['[::1]:0', { host: '::1', port: 0 }],
  ])('takes %s as an address to listen on', (text, listen) => {
    expect(readConfig({ SERVICE_OPERATOR_LISTEN: text }).listen).toEqual(listen);
  });

  it('ignores the links that Kubernetes injects for Services', () => {
    const links = {
      SERVICE_OPERATOR_WEBHOOK_SERVICE_HOST: '10.0.0.1',
      SERVICE_OPERATOR_WEBHOOK_SERVICE_PORT: '443',
      SERVICE_OPERATOR_WEBHOOK_SERVICE_PORT_HTTPS: '443',
      SERVICE_OPERATOR_WEBHOOK_PORT: 'tcp://10.0.0.1:443',
      SERVICE_OPERATOR_WEBHOOK_PORT_443_TCP: 'tcp://10.0.0.1:443',
      SERVICE_OPERATOR_WEBHOOK_PORT_443_TCP_ADDR: '10.0.0.1',
    };
    expect(readConfig(links)).toEqual(DEFAULTS);
  });

  it.each([
    [
      { SERVICE_OPERATOR_NAMESPCE: 'x' },
      'SERVICE_OPERATOR_NAMESPCE is not known; the operator reads SERVICE_OPERATOR_NAMESPACE, SERVICE_OPERATOR_KUBECONFIG, SERVICE_OPERATOR_LISTEN, SERVICE_OPERATOR_STATE_DIR, SERVICE_LOG_LEVEL',
    ],
    [
      { SERVICE_OPERATOR_NAMESPACE: 'Ops' },
      'SERVICE_OPERATOR_NAMESPACE: a namespace name is expected (lower-case letters, digits, dashes), not "Ops"',
    ],
    [{ SERVICE_OPERATOR_LISTEN: 'here' }, 'SERVICE_OPERATOR_LISTEN: host:port or a port is expected, not "here"'],
    [{ SERVICE_OPERATOR_LISTEN: ':99999' }, 'SERVICE_OPERATOR_LISTEN: host:port or a port is expected, not ":99999"'],
    [
      { SERVICE_LOG_LEVEL: 'loud' },
      'SERVICE_LOG_LEVEL: one of fatal, error, warn, info, debug, trace, silent is expected, not "loud"',
    ],
    [{ SERVICE_OPERATOR_STATE_DIR: ' ' }, 'SERVICE_OPERATOR_STATE_DIR is empty; leave it out for the default'],
  ])('stops the start with one line for %o', (environment, line) => {
    expect(() => readConfig(environment)).toThrow(new ConfigError(line));
  });
});
