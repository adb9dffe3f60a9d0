/** What `GET /intents/{id}/timeline` tells. Times are RFC 3339. */
export interface Timeline {
  readonly intent: { readonly id: string; readonly state: string };
  readonly items: readonly TimelineItem[];
}

export interface TimelineItem {
  readonly at?: string;
  readonly step: string;
  readonly state: 'done' | 'current' | 'pending' | 'failed';
  readonly text: string;
  readonly by?: string;
  readonly ref?: TimelineRef;
}

export interface TimelineRef {
  readonly kind: string;
  readonly id: string;
  readonly repository?: string;
}
