import { REMOVING_ANNOTATION } from '../../api/names.ts';
import type { Stored } from '../../api/objects.ts';
import { namedAmong, namedRemovals } from '../../decisions/scaling/named-removals.ts';

/** Reports whether a VM of the pool has begun to leave it, or is to be removed by name. */
export const isLeaving = (pool: Stored, { metadata }: Stored): boolean =>
  metadata.deletionTimestamp !== undefined ||
  metadata.annotations?.[REMOVING_ANNOTATION] !== undefined ||
  namedAmong(namedRemovals(pool.metadata.annotations))(metadata);
