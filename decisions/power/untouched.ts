import type { PowerRecord } from '../views/annotations/power-record.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { VmInProgress } from './outcome.ts';

/** Returns what is to be noted on the VM, as it is now. */
export const newPowerRecord = (
  act: Pick<PowerRecord, 'by' | 'turn'>,
  { since, graceMs, wasDown, pod, migration }: VmInProgress,
  { generation, notReadySince }: VmView,
  vmi: VmiView | undefined,
): PowerRecord => ({
  ...act,
  since,
  ...(graceMs !== undefined && { graceMs }),
  ...(wasDown === true && { wasDown }),
  ...(vmi !== undefined && { vmi: vmi.uid }),
  ...(pod !== undefined && { pod }),
  ...(migration !== undefined && { migration }),
  generation,
  notReadySince,
});

/**
 * Reports whether nothing has been done to the VM since the note: neither what it announces, nor anything by others.
 * KubeVirt starts and stops VMs by their specs, or by requests in their statuses; and a VM that has run since has
 * another VMI, or another time of its readiness.
 */
export const isUntouched = (record: PowerRecord, vm: VmView, vmi: VmiView | undefined): boolean =>
  record.migration === undefined ? isAsRecorded(record, vm, vmi) : isInItsPod(record, vmi);

const isAsRecorded = (record: PowerRecord, vm: VmView, vmi: VmiView | undefined): boolean =>
  record.generation === vm.generation &&
  !vm.changingState &&
  record.vmi === vmi?.uid &&
  vmi?.deleting !== true &&
  (vmi !== undefined || record.notReadySince === vm.notReadySince);

/** A VMI that is in its pod still, and of which no such migration was made, has not been migrated. */
const isInItsPod = ({ vmi: uid, pod, migration = 0 }: PowerRecord, vmi: VmiView | undefined): boolean =>
  vmi !== undefined && vmi.uid === uid && vmi.pod === pod && (vmi.evacuation?.attempt ?? 0) < migration;
