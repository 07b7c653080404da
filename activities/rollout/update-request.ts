import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { Batch, BatchVm, UpdateOutcome } from '../../decisions/owners/batch.ts';
import type { Begun, WaveResult } from '../disruption/method.ts';
import type { PoolKey } from '../owners/owner-key.ts';

/** VMs of a batch. */
export interface UpdateRequest extends Pick<Batch, 'n' | 'revision' | 'rollout' | 'startedAt'> {
  key: PoolKey;
  vms: BatchVm[];
  /** VMs in progress, as an earlier call has returned them. */
  begun: Begun[];
  minReadyMs: number;
  /** How long each VM may take to be available, in milliseconds. */
  deadlineMs: number;
  /** How many of these VMs may fail before no further one is taken; null: any number. */
  mayFail: number | null;
  minVersions: ResourceVersions;
}

export type RemoveRequest = Omit<UpdateRequest, 'begun' | 'minReadyMs' | 'deadlineMs' | 'mayFail'>;

export interface Updated extends Pick<WaveResult<UpdateOutcome, Begun>, 'outcomes' | 'begun'> {
  minVersions: ResourceVersions;
}
