/** The agent API, below the control plane's base URL (specification, "Endpoints"; `config` from the decisions). */
export const AGENT_PATHS = {
  register: '/api/agent/register',
  rotate: '/api/agent/credentials/rotate',
  recover: '/api/agent/credentials/recover',
  config: '/api/agent/config',
  jobs: '/api/agent/jobs',
  events: '/api/agent/events',
} as const;
