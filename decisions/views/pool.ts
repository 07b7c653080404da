import type { PoolSpec, VirtualMachinePool } from '../../api/pool/pool.ts';
import type { LeftOut, WithReplicas } from './owner.ts';

export interface StoredPool extends Omit<VirtualMachinePool, 'spec'>, LeftOut {
  metadata: VirtualMachinePool['metadata'] & { namespace: string; uid: string };
  spec: WithReplicas<PoolSpec>;
}
