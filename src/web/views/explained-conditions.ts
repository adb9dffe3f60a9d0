import { conditionNews } from '../../resources/condition-news.ts';
import type { Condition } from '../api/conditions.ts';
import type { Tone } from '../components/badge.tsx';

/** What each condition of a cluster tells, in words for somebody who meets it for the first time. */
export const EXPLAINED: Readonly<Record<string, string>> = {
  Authenticated: 'The operator has a credential that this control plane takes.',
  Connected: 'The operator has asked within three of its poll intervals.',
  Disconnected: 'Nothing was heard of the operator for three poll intervals. What is installed goes on running.',
  Expired: 'The operator’s credential: expired, revoked, or to be renewed soon.',
  OperatorSupported: 'The version that the operator runs is one that this control plane works with.',
  PushReachable: 'The API server is this cluster’s, and takes the credential that this control plane writes with.',
  PushCredentialExpires: 'The credential that this control plane writes with ends soon, and is not renewed by itself.',
  ModeSwitched: 'How the switch of the connectivity mode stands.',
  Ready: 'The operator can do its work: it has reached its source, and applied what it found.',
  SourceReady: 'The operator has fetched the present revision of its source.',
  Applied: 'The operator has applied the present revision.',
  Reconciling: 'The operator is at work on a newer revision.',
  Stalled: 'The operator cannot go on without somebody doing something.',
};

const TONES = { good: 'good', neutral: 'waiting', warning: 'warning', bad: 'bad' } as const;

export const toneOfCondition = (condition: Condition): Tone => TONES[conditionNews(condition)];
