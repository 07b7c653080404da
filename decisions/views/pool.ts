import type { VirtualMachinePool } from '../../api/pool/pool.ts';

export interface StoredPool extends VirtualMachinePool {
  metadata: VirtualMachinePool['metadata'] & { namespace: string; uid: string };
}
