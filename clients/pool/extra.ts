import type { Stored } from '../../api/objects.ts';
import { roleOf } from '../../decisions/views/vm.ts';

/** Returns why people can't have a VM leave or stay that its pool has beyond its replicas; undefined for other VMs. */
export const whyExtra = (pool: string, { metadata }: Stored): string | undefined =>
  roleOf(metadata.labels) === 'Surge'
    ? `vm ${metadata.name} is extra while pool ${pool} updates others, and goes by itself`
    : undefined;
