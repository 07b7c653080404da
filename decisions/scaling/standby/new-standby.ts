import { STANDBY_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { StandbyState } from '../../../api/pool/pool.ts';
import type { NewVirtualMachine } from '../../template/vm-from-template.ts';

/** Returns a new standby VM of a pool as its state has it: a paused one comes up first. */
export const standbyFrom = (vm: NewVirtualMachine, state: StandbyState): NewVirtualMachine => ({
  ...vm,
  metadata: { ...vm.metadata, annotations: { ...vm.metadata.annotations, [STANDBY_ANNOTATION]: state } },
  spec: state === 'Stopped' ? { ...vm.spec, running: undefined, runStrategy: 'Halted' } : vm.spec,
});
