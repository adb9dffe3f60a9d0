/** Notified when an intent was accepted or a target is free again: delivery looks for work. */
export const DELIVERY_TOPIC = 'delivery';

/** Notified when a proposal changed: branches, Git hosts and merges that are due are looked at. */
export const PROPOSALS_TOPIC = 'proposals';

/** Notified when something was approved, or a signing key was revoked: statements are signed, and what fell is ended. */
export const APPROVALS_TOPIC = 'approvals';

/** Notified when a write stored changes that `GET /changes` tells of. */
export const CHANGES_TOPIC = 'changes';

/** Notified when messages for the discussion channel's webhooks were stored. */
export const CHANNEL_TOPIC = 'channel';

/** Notified when a switch of mode was asked for or cancelled, and when something that one waits for has happened. */
export const MODES_TOPIC = 'modes';

/** Notified when what `/config` answers a cluster has changed. */
export function configTopic(clusterId: string): string {
  return `config:${clusterId}`;
}

/** Notified when what a cluster reports was stored: its conditions, events and the states of its intents. */
export function statusTopic(clusterId: string): string {
  return `status:${clusterId}`;
}

/** Notified when a job was put into a cluster's queue: its held polls look. */
export function jobsTopic(clusterId: string): string {
  return `jobs:${clusterId}`;
}
