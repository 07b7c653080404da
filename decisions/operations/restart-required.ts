import { rfc3339 } from '../lib/time.ts';
import { predatesChange } from '../views/annotations/transition-record.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { KubeVirtPlugs } from '../vm-update/disruption.ts';
import { isStartedFrom } from '../vm-update/started-from.ts';

/**
 * Returns why the VM waits for a restart, a sentence each: KubeVirt, its pool or a machine type transition says so, or
 * KubeVirt plugs something into it with its next migration, and makes none by itself. Empty if it does not.
 */
export function restartReasons(vm: VmView, vmi: VmiView, { migrates }: Pick<KubeVirtPlugs, 'migrates'>): string[] {
  const { restartRequired, owner, revision, transition, transitionLabel } = vm;
  const reasons: string[] = [];
  if (restartRequired !== null && whyRestartIsVain(vm, vmi) === null) reasons.push(sentenceOf(restartRequired));
  const isOfPool = owner?.kind === 'VirtualMachinePool';
  if (isOfPool && revision !== null && vmi.revision !== null && revision !== vmi.revision)
    reasons.push(`its VMI runs revision ${vmi.revision}, its spec is of ${revision}`);
  // KubeVirt sets no condition for a VM whose spec has an alias such as `q35`: only its VMI's type is old.
  const type = vmi.machineType ?? vmi.specMachineType;
  if (transition !== null && transition.id === transitionLabel && predatesChange(type, transition))
    reasons.push(`its VMI has machine type ${type}, which operation ${transition.by ?? transition.id} takes away`);
  if (vmi.plugging !== null && !migrates)
    reasons.push(`KubeVirt needs a migration to plug it in, and starts none by itself (${vmi.plugging})`);
  return reasons;
}

/**
 * Says that a restart does not end the condition that KubeVirt has set; null if one may. Its VMI was started from the
 * spec that the VM has: KubeVirt has set the condition again, as it does for `host-passthrough`.
 */
export const whyRestartIsVain = (vm: VmView, vmi: VmiView): string | null =>
  vm.restartRequired !== null && isStartedFrom(vm, vmi)
    ? `it was restarted at ${rfc3339(vmi.createdAt)}, and still waits: ${sentenceOf(vm.restartRequired)}`
    : null;

/** How long a VM waits before its user is told: a rollout, or whoever has changed it, may restart it at once. */
const NOTICE_AFTER_MS = 60_000;
/** Until then since the change, workers that are started tell it again, in case that none ran. */
const NOTICE_WITHIN_MS = 600_000;

/** Returns why the user of a VM is to be told that it waits for a restart; null if it does not, or not so recently. */
export function whyRestartIsDue(vm: VmView, vmi: VmiView | undefined, now: number): string | null {
  const { restartRequired } = vm;
  const waitsMs = now - (restartRequired?.since ?? -Infinity);
  const isDue = waitsMs >= NOTICE_AFTER_MS && waitsMs <= NOTICE_WITHIN_MS;
  return isDue && vmi !== undefined && whyRestartIsVain(vm, vmi) === null ? sentenceOf(restartRequired!) : null;
}

const sentenceOf = ({ message }: NonNullable<VmView['restartRequired']>): string => message || 'KubeVirt does not say';
