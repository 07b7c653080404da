import type { Resource } from '../../api/resources.ts';

/** Kinds that only the simulator handles. */
const INSTANCETYPES = { group: 'instancetype.kubevirt.io', version: 'v1beta1' } as const;
export const VirtualMachinePreferences: Resource = Object.freeze({
  ...INSTANCETYPES,
  plural: 'virtualmachinepreferences',
  kind: 'VirtualMachinePreference',
  namespaced: true,
});
export const VirtualMachineClusterPreferences: Resource = Object.freeze({
  ...INSTANCETYPES,
  plural: 'virtualmachineclusterpreferences',
  kind: 'VirtualMachineClusterPreference',
  namespaced: false,
});
