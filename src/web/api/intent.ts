/** What somebody asked for, as `GET /intents/{id}` shows it. */
export interface Intent {
  readonly id: string;
  readonly clusterId: string;
  readonly clusterSlug?: string;
  readonly action: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly state: string;
  readonly reason?: string;
  readonly requestedBy: string;
  readonly requestReason?: string;
  readonly proposal?: { readonly id: string; readonly state: string };
  readonly receipt?: { readonly commit?: string; readonly jobId?: string; readonly link?: string };
  readonly acceptedAt?: string;
  readonly deliveredAt?: string;
  readonly appliedAt?: string;
  readonly readyAt?: string;
}
