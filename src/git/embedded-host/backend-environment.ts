import type { IncomingMessage } from 'node:http';
import { gitConfigEnvironment, gitEnvironment } from '../git-process.ts';
import type { SmartRequest } from './git-request.ts';

/** The environment of `git http-backend` for one request (RFC 3875, 4.1; git-http-backend(1)). */
export function backendEnvironment(deps: {
  /** Folder of the bare repositories. */
  readonly root: string;
  readonly asked: SmartRequest;
  readonly request: IncomingMessage;
  readonly settings: readonly (readonly [string, string])[];
  readonly encoding: string;
}): Record<string, string> {
  const { asked, request } = deps;
  const environment: Record<string, string> = gitEnvironment({
    ...gitConfigEnvironment(deps.settings),
    GIT_PROJECT_ROOT: deps.root,
    GIT_HTTP_EXPORT_ALL: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    PATH_INFO: `/${asked.repository}.git/${asked.step === 'advertise' ? 'info/refs' : asked.service}`,
    QUERY_STRING: asked.step === 'advertise' ? `service=${asked.service}` : '',
    REQUEST_METHOD: asked.step === 'advertise' ? 'GET' : 'POST',
    REMOTE_ADDR: request.socket.remoteAddress ?? '',
  });
  if (asked.step === 'exchange') {
    // No CONTENT_LENGTH: it reads to the end of its input. Told a length, Git 2.39 spins for ever where it streams a
    // body that ends early because the client, or this process, is gone.
    environment['CONTENT_TYPE'] = request.headers['content-type'] ?? '';
    if (deps.encoding !== 'identity') environment['HTTP_CONTENT_ENCODING'] = deps.encoding;
  }
  const protocol = request.headers['git-protocol'];
  if (typeof protocol === 'string' && /^version=[0-2]$/.test(protocol)) environment['GIT_PROTOCOL'] = protocol;
  return environment;
}
