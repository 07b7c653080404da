import type { Stored } from '../../../api/objects.ts';
import type { IntOrPercent, PoolSpec, PoolStatus, VmTemplate } from '../../../api/pool/pool.ts';
import type { Revision } from '../../../clients/pool/revisions.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { Pool } from '../../../decisions/views/pool.ts';

/** Returns a template that differs from others by its number of cores. */
export const templateOf = (cores: number, more: object = {}): VmTemplate => ({
  spec: { runStrategy: 'Always', template: { spec: { domain: { cpu: { cores }, devices: {} } } }, ...more },
});

export const hashOf = (cores: number): string => revisionOf(templateOf(cores));

export const revisionWith = (number: number, cores: number, more: Partial<Revision> = {}): Revision => ({
  number,
  hash: hashOf(cores),
  template: templateOf(cores),
  createdAt: '2026-01-01T00:00:00Z',
  usedAt: '2026-01-01T00:00:00Z',
  requestedBy: null,
  changeCause: null,
  ...more,
});

export interface UserRequest {
  spec?: Partial<PoolSpec>;
  rollout?: Partial<NonNullable<PoolStatus['rollout']>>;
  status?: Partial<PoolStatus>;
  /** Reason, status and message of `Progressing`. */
  progressing?: [reason: string, status: 'True' | 'False', message?: string];
  generation?: number;
}

/** Returns a pool that is rolling out from one core to two, with this status. */
export function poolWith({
  spec,
  rollout,
  status,
  progressing = ['RollingOut', 'True', 'so it is'],
  generation = 2,
}: UserRequest = {}): Stored<Pool> {
  const [reason, is, message = ''] = progressing;
  return {
    metadata: {
      name: 'web',
      namespace: 'default',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      generation,
    },
    spec: { replicas: 10, template: templateOf(2), ...spec },
    status: {
      observedGeneration: 2,
      replicas: 10,
      readyReplicas: 9,
      updatedReplicas: 3,
      currentRevision: hashOf(1),
      updateRevision: hashOf(2),
      rollout: {
        revision: hashOf(2),
        startedAt: '2026-01-01T00:00:00Z',
        batches: 2,
        lastBatch: 2,
        step: 0,
        failures: [],
        ...rollout,
      },
      conditions: [{ type: 'Progressing', status: is, reason, message, lastTransitionTime: '2026-01-01T00:00:00Z' }],
      ...status,
    },
  };
}

/** Returns rollout steps that wait for approval. */
export const byApproval = (...to: IntOrPercent[]): NonNullable<PoolSpec['rollout']> => ({
  // oxlint-disable-next-line unicorn/no-thenable
  steps: to.map((to) => ({ to, then: { approval: {} } })),
});
