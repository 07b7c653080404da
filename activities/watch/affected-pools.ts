import {
  ADOPT_VMS_ANNOTATION,
  HEALING_REQUEST_ANNOTATION,
  MEMBERSHIP_CHANGE_ANNOTATION,
  MEMBERSHIP_REQUEST_ANNOTATION,
  POOL_LABEL,
  REMOVE_VMS_ANNOTATION,
  ROLLOUT_REQUEST_ANNOTATION,
  UID_ANNOTATION,
} from '../../api/labels-and-annotations.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import type { StoredVmOwner } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { looksTheSame } from '../cache/looks-the-same.ts';
import type { ObjectChange } from '../cache/objects/cache-change.ts';
import { isAbout } from '../configuration/contents.ts';
import { ownerName } from '../owners/owner-key.ts';

/** Returns the pools, by `namespace/name`, that a change concerns; none if nothing changed that a decision reads. */
export function affectedPools(
  change: ObjectChange,
  cache: Pick<ClusterCache, 'pools' | 'vms' | 'vmisByNode'>,
): string[] {
  switch (change.kind) {
    case 'pool':
      return ownerFingerprint(change.before) === ownerFingerprint(change.after)
        ? []
        : [ownerName((change.after ?? change.before)!)];
    case 'replica set':
    case 'VMI replica set':
    case 'operation':
    case 'schedule':
    case 'budget':
      return [];
    case 'vm':
      return poolsOfVm(change, cache);
    case 'vmi': {
      if (looksTheSame(change.before, change.after, VMI_FIELDS_OF_TRANSITIONS)) return [];
      return distinct([change.before, change.after].flatMap((vmi) => poolOfVm(vmi && vmOf(vmi, cache))));
    }
    case 'migration':
      return looksTheSame(change.before, change.after) ? [] : poolNamedBy((change.after ?? change.before)!);
    case 'disk':
      return poolOfDisk(change);
    case 'node':
      return distinct(
        cache.vmisByNode.of((change.after ?? change.before)!.name).flatMap((vmi) => poolOfVm(vmOf(vmi, cache))),
      );
    case 'content':
      return poolsOfContent(change, cache);
    case 'strategy':
      return [...cache.pools.values()].map(ownerName);
  }
}

/** Migrations of VMs that are in no pool name none. */
const poolNamedBy = ({ namespace, pool }: { namespace: string; pool: string | null }): string[] =>
  pool === null ? [] : [`${namespace}/${pool}`];

function poolOfDisk({ before, after }: Extract<ObjectChange, { kind: 'disk' }>): string[] {
  const { kept, namespace } = (after ?? before)!;
  return looksTheSame(before, after) ? [] : [`${namespace}/${kept.pool}`];
}

function poolsOfVm(
  { before, after }: Extract<ObjectChange, { kind: 'vm' }>,
  { pools }: Pick<ClusterCache, 'pools'>,
): string[] {
  const affected = distinct([before, after].flatMap(poolOfVm));
  const isSame =
    looksTheSame(before, after, UNREAD_OF_VMS) &&
    hasSamePool(before, after) &&
    affected.every((key) => hasSameAnnotations(before, after, pools.get(key)));
  return isSame ? [] : affected;
}

/**
 * Of a VM's annotations, a pool's decisions read only the ones that its template sets: the others may change all the
 * time.
 */
function hasSameAnnotations(
  before: VmView | undefined,
  after: VmView | undefined,
  pool: StoredPool | undefined,
): boolean {
  const set = Object.keys(pool?.spec.template.metadata?.annotations ?? {});
  return set.every((name) => before?.annotations[name] === after?.annotations[name]);
}

/** The pools of the namespace whose VMs restart when this changes. */
function poolsOfContent(
  { namespace, reference }: Extract<ObjectChange, { kind: 'content' }>,
  cache: Pick<ClusterCache, 'pools'>,
): string[] {
  const inNamespace = [...cache.pools.values()].filter(({ metadata }) => metadata.namespace === namespace);
  return inNamespace.filter((pool) => reference === undefined || isAbout(reference, pool)).map(ownerName);
}

const hasSamePool = (before: VmView | undefined, after: VmView | undefined): boolean =>
  before?.ownLabels[POOL_LABEL] === after?.ownLabels[POOL_LABEL];

/** The pool that owns the VM; or, if the VM has no controller, the pool whose label it still has. */
function poolOfVm(vm: VmView | undefined): string[] {
  if (vm?.owner === null) {
    const pool = vm.labels[POOL_LABEL];
    return pool === undefined ? [] : [`${vm.namespace}/${pool}`];
  }
  return vm?.owner.kind === 'VirtualMachinePool' ? [`${vm.namespace}/${vm.owner.name}`] : [];
}

/** Returns undefined if the VM is not known yet, or no longer: its own creation or deletion signals its owner. */
export function vmOf(vmi: VmiView, cache: Pick<ClusterCache, 'vms'>): VmView | undefined {
  const vm = cache.vms.get(`${vmi.namespace}/${vmi.name}`);
  return vm?.uid === vmi.vmUid ? vm : undefined;
}

export const distinct = (keys: string[]): string[] => [...new Set(keys)];

const OWN_ANNOTATIONS = [
  REMOVE_VMS_ANNOTATION,
  ADOPT_VMS_ANNOTATION,
  MEMBERSHIP_CHANGE_ANNOTATION,
  UID_ANNOTATION,
  ROLLOUT_REQUEST_ANNOTATION,
  HEALING_REQUEST_ANNOTATION,
  MEMBERSHIP_REQUEST_ANNOTATION,
];

/**
 * Everything in a pool or a set that a decision reads, except its status, which drover itself writes. Of its
 * annotations, these are drover's own.
 */
export function ownerFingerprint(owner: StoredVmOwner | undefined): string {
  if (owner === undefined) return '';
  const { uid, generation, deletionTimestamp, finalizers, annotations } = owner.metadata;
  const own = OWN_ANNOTATIONS.map((name) => annotations?.[name]);
  return canonical({ uid, generation, deletionTimestamp, finalizers, own });
}

/** VM fields that only machine type transitions read. */
export const VM_FIELDS_OF_TRANSITIONS: ReadonlySet<keyof VmView> = new Set([
  'ownLabels',
  'machineType',
  'architecture',
  'preference',
  'transition',
  'transitionLabel',
]);
/** The fields of transitions, and what the pools' decisions read in part. */
const UNREAD_OF_VMS: ReadonlySet<keyof VmView> = new Set([...VM_FIELDS_OF_TRANSITIONS, 'annotations']);
/** VMI fields that only machine type transitions read. */
export const VMI_FIELDS_OF_TRANSITIONS: ReadonlySet<keyof VmiView> = new Set(['machineType', 'specMachineType']);
