import type { Resource } from '../../kubernetes/resources.ts';

/** Kinds that only the simulator handles. */
export const VirtualMachineInstanceMigrations: Resource = Object.freeze({
  group: 'kubevirt.io',
  version: 'v1',
  plural: 'virtualmachineinstancemigrations',
  kind: 'VirtualMachineInstanceMigration',
  namespaced: true,
});
