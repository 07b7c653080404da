import type { KubeObject } from '../../api/objects.ts';
import { VirtualMachines } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import type { Pool } from '../pools/objects.ts';

/**
 * Statuses by which the API server says that the VM itself is wrong. Others (rights, quota, load) say nothing of the
 * template.
 */
const WRONG = new Set([400, 413, 422]);

/** The number of no VM: pools count theirs from 1. */
const NUMBER = 0;

/** What the API server says of a VM of a pool's template. */
export type VmCheck = { result: 'right' } | { result: 'refused' | 'unchecked'; why: string };

/**
 * Has the API server try one VM of the pool's template, with its schema and KubeVirt's webhooks, and make none. A field
 * that the schema doesn't know is refused: KubeVirt would never see it.
 */
export async function checkVm(kube: KubeClient, { metadata, spec }: Pool): Promise<VmCheck> {
  const { labels, annotations } = spec.template.metadata ?? {};
  const vm: KubeObject = {
    metadata: {
      name: `${metadata.name}-${NUMBER}`,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: spec.template.spec,
  };
  try {
    await kube.create(VirtualMachines, vm, { dryRun: true, strict: true });
    return { result: 'right' };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    // The API server looks for another object of the name last.
    if (error.status === 409) return { result: 'right' };
    return { result: WRONG.has(error.status) ? 'refused' : 'unchecked', why: error.message };
  }
}
