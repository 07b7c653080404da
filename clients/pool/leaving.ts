import { REMOVING_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { namedAmong, namedRemovals } from '../../decisions/views/annotations/named-vms.ts';
import { roleOf } from '../../decisions/views/vm.ts';

/** Reports whether a VM of the pool has begun to leave it, or is to be removed by name. */
export const isLeaving = (pool: Stored, { metadata }: Stored): boolean =>
  metadata.deletionTimestamp !== undefined ||
  metadata.annotations?.[REMOVING_ANNOTATION] !== undefined ||
  namedAmong(namedRemovals(pool.metadata.annotations))(metadata);

/** Returns why users can't have a VM leave or stay that its pool has beyond its replicas; undefined for other VMs. */
export const whyExtra = (pool: string, { metadata }: Stored): string | undefined =>
  roleOf(metadata.labels) === 'Surge'
    ? `vm ${metadata.name} is extra while pool ${pool} updates others, and leaves by itself`
    : undefined;
