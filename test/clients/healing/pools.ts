import type { Stored } from '../../../api/objects.ts';
import type { Condition, HealingStatus, PoolSpec } from '../../../api/pool/pool.ts';
import type { Pool } from '../../../decisions/views/pool.ts';

type Cycle = HealingStatus['cycles'][number];
type FinishedCycle = HealingStatus['finished'][number];

const at = '2026-01-01T00:00:00Z';

export const cycle = (more: Partial<Cycle> = {}): Cycle => ({
  vm: 'web-1',
  uid: 'u1',
  attempt: 1,
  phase: 'Removing',
  message: 'sick',
  startedAt: at,
  ...more,
});

export const finished = (more: Partial<FinishedCycle> = {}): FinishedCycle => ({
  vm: 'web-1',
  uid: 'u1',
  attempts: 1,
  end: 'Healed',
  message: 'sick',
  at: '2026-01-01T00:01:00Z',
  ...more,
});

export const condition = (type: string, status: Condition['status'], reason: string, message = ''): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: at,
});

export interface UserRequest {
  healing?: Partial<HealingStatus> | undefined;
  conditions?: Condition[];
  /** `autohealing: undefined` turns healing off. */
  spec?: { [K in keyof PoolSpec]?: PoolSpec[K] | undefined };
  generation?: number;
}

/** Returns a pool with autohealing and this status. */
export function healingPool({ healing, conditions = [], spec = {}, generation = 2 }: UserRequest = {}): Stored<Pool> {
  const whole = { replicas: 10, template: { spec: { template: { spec: {} } } }, autohealing: {}, ...spec } as PoolSpec;
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'u', resourceVersion: '1', creationTimestamp: at, generation },
    spec: whole,
    status: {
      observedGeneration: 2,
      replicas: 10,
      conditions,
      ...(healing === undefined ? {} : { healing: { cycles: [], finished: [], ...healing } }),
    },
  };
}
