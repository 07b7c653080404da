import { REVISION_LABEL } from '../../api/labels-and-annotations.ts';
import { VirtualMachines } from '../../api/resources.ts';
import type { Act } from '../../decisions/history/act.ts';
import type { KubeClient } from '../../kubernetes/client.ts';

/**
 * Tells the VMs of batches that are queued from those in progress: their specs are of the revision before. All count as
 * in progress if they can't be read.
 */
export async function withQueued(kube: KubeClient, namespace: string, acts: Act[]): Promise<Act[]> {
  if (!acts.some(isOpen)) return acts;
  const { items } = await kube.list(VirtualMachines, { namespace }).catch(() => ({ items: [] }));
  const revisions = new Map(items.map(({ metadata }) => [metadata.name, metadata.labels?.[REVISION_LABEL]]));
  return acts.flatMap((act) => {
    if (!isOpen(act)) return [act];
    const { true: queued = [], false: begun = [] } = Object.groupBy(act.vms, (vm) =>
      String(revisions.has(vm) && revisions.get(vm) !== act.to),
    );
    const parts = [
      { ...act, vms: begun },
      { ...act, vms: queued, end: 'Queued' as const },
    ];
    return parts.filter(({ vms }) => vms.length > 0);
  });
}

const isOpen = ({ workflow, end }: Act): boolean => end === 'InProgress' && workflow.includes('/update/');
