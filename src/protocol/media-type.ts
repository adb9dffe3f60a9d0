/** The agent protocol's only version (specification, "Versioning"). */
export const AGENT_MEDIA_TYPE = 'application/vnd.service.agent.v1+json';
