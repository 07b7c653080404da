import type { KubeObject } from '../../api/objects.ts';
import { VirtualMachines } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import type { Pool } from '../pools/objects.ts';

/**
 * Statuses of the API server for a VM that is itself wrong. Others (rights, quota, load) say nothing about the
 * template.
 */
const WRONG = new Set([400, 413, 422]);

/** No VM of a pool has this number: pools count from 1. */
const NUMBER = 0;

/** What the API server says about a VM of a pool's template. */
export type VmCheck = { result: 'right' } | { result: 'refused' | 'unchecked'; why: string };

/**
 * Has the API server dry-run one VM of the pool's template, with its schema and KubeVirt's webhooks. Refuses fields
 * that the schema doesn't know: KubeVirt would never see them.
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
    // The API server checks for an existing object of the same name last.
    if (error.status === 409) return { result: 'right' };
    return { result: WRONG.has(error.status) ? 'refused' : 'unchecked', why: error.message };
  }
}
