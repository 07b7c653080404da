import type { KubeObject } from '../../../api/objects.ts';
import {
  DataVolumes,
  KubeVirtPools,
  PersistentVolumeClaims,
  VirtualMachineInstances,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { field } from '../../../decisions/lib/json.ts';
import type { LastCheck } from '../../../kubernetes/retry.ts';

const DELETED: readonly Resource[] = [
  VirtualMachines,
  VirtualMachineInstances,
  DataVolumes,
  PersistentVolumeClaims,
  KubeVirtPools,
];

export interface Sent {
  verb: string;
  resource?: Resource | null;
  /** Of a call that is no verb on a resource. */
  path?: string;
  body?: unknown;
  isDryRun?: boolean;
}

/** Reports whether the request takes something away that may be wanted again: a VM, what runs, a disk, a member. */
export function isDestructive({ verb, resource, path = '', body, isDryRun = false }: Sent): boolean {
  if (isDryRun) return false;
  if (verb === 'delete')
    return DELETED.some(({ plural, group }) => plural === resource?.plural && group === resource.group);
  if (verb === 'request') return /\/(stop|restart)$/.test(path);
  if (verb !== 'patch' || resource?.plural !== VirtualMachines.plural) return false;
  const { metadata, spec } = body as Partial<KubeObject> & { spec?: object };
  return field(spec, 'runStrategy') === 'Halted' || field(metadata, 'ownerReferences') !== undefined;
}

/** Throws if the request is destructive, and nothing would be checked when it is sent. */
export function requireLastCheck(sent: Sent, lastCheck: LastCheck | undefined): void {
  if (lastCheck === undefined && isDestructive(sent))
    throw new Error(`${sent.verb} ${sent.resource?.plural ?? sent.path} goes without a last check: see whileFresh`);
}
