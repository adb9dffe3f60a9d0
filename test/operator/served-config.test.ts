import { describe, expect, it } from 'vitest';
import { ServedConfig } from '../../src/operator/served-config.ts';
import type { ClusterStatus } from '../../src/resources/cluster.ts';
import type { NewCondition } from '../../src/resources/conditions.ts';

function serving(status: ClusterStatus): { served: ServedConfig; status: () => ClusterStatus; story: string[] } {
  let now = status;
  const story: string[] = [];
  const writer = {
    get status() {
      return now;
    },
    get conditions() {
      return now.conditions ?? [];
    },
    change: (part: Partial<ClusterStatus>) => {
      now = { ...now, ...part };
    },
    setConditions: (conditions: readonly NewCondition[]) => {
      now = { ...now, conditions: conditions.map((condition) => ({ ...condition })) };
      for (const { status: is, reason } of conditions) story.push(`${is} ${reason}`);
    },
  };
  return {
    served: new ServedConfig({ status: () => writer, onChange: () => void story.push('look again') }),
    status: () => now,
    story,
  };
}

describe('a configuration that is not served', () => {
  it('leaves the mode that the registration named', () => {
    const { served, status, story } = serving({ clusterId: 'c-1' });
    served.registered('push');
    served.tell(false);
    expect(status().connectivityMode).toBe('push');
    expect(story).toEqual(['False ConfigurationNotServed', 'look again']);
  });

  it('leaves pull mode where no registration of this process named one', () => {
    const { served, status } = serving({ clusterId: 'c-1' });
    served.tell(false);
    expect(status().connectivityMode).toBe('pull');
  });

  it('changes nothing of what was told before, a registration with the next control plane included', () => {
    const { served, status } = serving({ clusterId: 'c-1', connectivityMode: 'gitops', deliveryEpoch: 3 });
    served.registered('pull');
    served.tell(false);
    expect(status()).toMatchObject({ connectivityMode: 'gitops', deliveryEpoch: 3 });
  });

  it('is found again, and not spoken of where it was never missed', () => {
    const { served, story } = serving({ clusterId: 'c-1' });
    served.tell(true);
    served.tell(false);
    served.tell(true);
    expect(story).toEqual(['False ConfigurationNotServed', 'look again', 'True ConfigurationFound']);
  });
});
