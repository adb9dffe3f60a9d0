/** The agent API, below the control plane's base URL (specification, "Endpoints"; `config` from the decisions). */
export const AGENT_PATHS = {
  register: '/api/agent/register',
  config: '/api/agent/config',
  events: '/api/agent/events',
} as const;
