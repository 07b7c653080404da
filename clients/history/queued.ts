import { REVISION_LABEL } from '../../api/names.ts';
import { VirtualMachines } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { Action } from './actions.ts';

/**
 * Tells the VMs of batches that are queued from those in progress. Temporal's history does not tell which VMs a running
 * batch has begun with, but their specs are of its revision then. All count as in progress if they can't be read.
 */
export async function withQueued(kube: KubeClient, namespace: string, actions: Action[]): Promise<Action[]> {
  if (!actions.some(isOpen)) return actions;
  const { items } = await kube.list(VirtualMachines, { namespace }).catch(() => ({ items: [] }));
  const revisions = new Map(items.map(({ metadata }) => [metadata.name, metadata.labels?.[REVISION_LABEL]]));
  const isQueued = ({ vms: [vm = ''], to }: Action): boolean => revisions.has(vm) && revisions.get(vm) !== to;
  return actions.map((action) => (isOpen(action) && isQueued(action) ? { ...action, end: 'Queued' } : action));
}

const isOpen = ({ workflow, end }: Action): boolean => end === 'InProgress' && workflow.includes('/update/');
