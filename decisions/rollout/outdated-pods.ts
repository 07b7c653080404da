import { liveVmi } from '../health/availability.ts';
import { formatNames } from '../lib/names.ts';
import type { RegularVm } from '../views/vm.ts';
import { whyPodStays } from '../vm-update/pod-act.ts';
import type { RolloutContext } from './state/context.ts';

/** VMs that have a revision, spec and VMI, but for what KubeVirt gives only to the next pod of a VMI. */
export interface OutdatedPods {
  vms: RegularVm[];
  /** A sentence for each cause. */
  messages: string[];
}

/** Returns the VMs of this revision whose pods were made from another template, and lack something of it. */
export function outdatedPods(context: RolloutContext, revision: string): OutdatedPods {
  const byCause = new Map<string, RegularVm[]>();
  for (const vm of context.active) {
    const vmi = liveVmi(context.input.vmiOf(vm));
    const lack = vmi === undefined || !context.hasRevision(vm, revision) ? null : context.podLack(vmi, revision);
    if (lack === null) continue;
    const cause = `${lack}, until the next start or migration${whyPodStays(vmi!, context.spec.update)}`;
    byCause.set(cause, [...(byCause.get(cause) ?? []), vm]);
  }
  const messages = [...byCause].map(([cause, vms]) => `${formatNames(vms.map(({ name }) => name))}: ${cause}`).sort();
  return { vms: [...byCause.values()].flat(), messages };
}
