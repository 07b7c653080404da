import type { PowerNote } from '../annotations/power-note.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { VmInProgress } from './outcome.ts';

/** Returns what is to be noted on the VM, as it is now. */
export const noteOf = (
  act: Pick<PowerNote, 'by' | 'turn'>,
  { since, graceMs, wasDown }: VmInProgress,
  { generation, notReadySince }: VmView,
  vmi: VmiView | undefined,
): PowerNote => ({
  ...act,
  since,
  ...(graceMs !== undefined && { graceMs }),
  ...(wasDown === true && { wasDown }),
  ...(vmi !== undefined && { vmi: vmi.uid }),
  generation,
  notReadySince,
});

/**
 * Reports whether nothing has been done to the VM since the note: neither what it announces, nor anything by others.
 * KubeVirt starts and stops VMs by their specs, or by requests in their statuses; and who has run since has another
 * VMI, or has become ready or not at another time.
 */
export const isUntouched = (note: PowerNote, vm: VmView, vmi: VmiView | undefined): boolean =>
  note.generation === vm.generation &&
  !vm.changingState &&
  note.vmi === vmi?.uid &&
  vmi?.deleting !== true &&
  (vmi !== undefined || note.notReadySince === vm.notReadySince);
