import { GROUP } from '../../api/labels-and-annotations.ts';
import type { ObjectMeta } from '../../api/objects.ts';
import { intern } from './intern.ts';

/** Finalizers of the garbage collector, and KubeVirt's of a VMI, which has no domain. */
const OWN = new Set(['foregroundDeletion', 'orphan', 'foregroundDeleteVirtualMachine']);
const OWN_DOMAINS = [GROUP, 'kubevirt.io'];

/**
 * Returns the finalizers by which neither Kubernetes, KubeVirt nor drover keeps an object that is being deleted, in one
 * text; null if there are none, or it is not being deleted.
 */
export function blockingFinalizers({ deletionTimestamp, finalizers = [] }: ObjectMeta): string | null {
  if (deletionTimestamp === undefined) return null;
  const foreign = finalizers.filter((one) => !OWN.has(one) && !isOf(one.split('/')[0]!));
  return foreign.length === 0 ? null : intern(foreign.join(', '));
}

const isOf = (domain: string): boolean => OWN_DOMAINS.some((own) => domain === own || domain.endsWith(`.${own}`));
