import { REMOVE_VMS_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import { OWNER_WORKFLOWS } from '../../../workflows/lib/ids.ts';
import { isRegular, type Pool } from '../facts.ts';

/** Types of workflows that run as long as what they are about is there. */
export const LASTING: ReadonlySet<string> = new Set([
  'watch',
  ...Object.values(OWNER_WORKFLOWS).map(({ type }) => type),
]);

/** Reports whether the pool has the VMs that its spec wants, these ones, and its status says so. */
export function isPoolAsWanted({ metadata, spec, status }: Pool, vms: readonly Stored[]): boolean {
  const { replicas } = spec;
  const standby = vms.filter((vm) => !isRegular(vm)).length;
  return (
    vms.length - standby === replicas &&
    standby === (spec.standby?.replicas ?? 0) &&
    (status?.standbyReplicas ?? 0) === standby &&
    status?.readyReplicas === replicas &&
    status.updatedReplicas === replicas &&
    status.replicas === replicas &&
    // Whatever was to be removed by name is gone.
    metadata.annotations?.[REMOVE_VMS_ANNOTATION] === undefined &&
    (status.healing?.cycles ?? []).length === 0 &&
    !status.conditions?.some(({ type }) => type === 'Draining')
  );
}
