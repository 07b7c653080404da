import {
  DETACHED_ANNOTATION,
  DISKS_FINALIZER,
  KUBEVIRT_POOL_FINALIZER,
  KUBEVIRT_REVISION_LABEL,
  PAUSED_POOL_ANNOTATION,
} from '../../api/labels-and-annotations.ts';
import type { Condition, KubeObject, OwnerReference, Stored } from '../../api/objects.ts';
import type { LabelSelector } from '../../api/pool/pool.ts';
import { apiVersionOf, KubeVirtPools } from '../../api/resources.ts';
import { matchesLabels } from '../../api/rules/label-selector.ts';
import type { VmWithVmi } from '../from-object/vm-with-vmi.ts';
import { vmView } from '../from-object/vm.ts';
import { vmiView } from '../from-object/vmi.ts';
import { parsedObject } from '../lib/json.ts';
import { formatNames } from '../lib/names.ts';
import { numberOf } from '../template/vm-names.ts';
import type { StoredPool } from '../views/pool.ts';
import { roleOf } from '../views/vm.ts';
import { membershipChangeOf, unfinished } from './change.ts';
import { strategyWithoutDrain } from './eviction-strategy.ts';
import { asFormer } from './label-patch.ts';
import type { MovePatches, Vm } from './moves.ts';
import { transferPatch } from './transfer.ts';

/** A KubeVirt pool, as far as drover reads it. */
export interface KubeVirtPool extends KubeObject {
  spec: { replicas?: number; paused?: boolean; autohealing?: object; selector: object; [field: string]: unknown };
  status?: { conditions?: Condition[] };
}

/** What drover changed in the spec of a KubeVirt pool. */
export interface PausedPool {
  /** `spec.paused`, as it was. */
  paused: boolean;
  /** `spec.autohealing`, as it was; null without. KubeVirt heals the VMs of a paused pool, too. */
  autohealing: object | null;
  /** Digest of the request that it was paused for. */
  request: string;
}

type StoredKubeVirtPool = Stored<KubeVirtPool>;

/** Returns what drover changed as it paused the pool; null if it has not. */
export function pausedPoolOf({ metadata: { annotations } }: StoredKubeVirtPool): PausedPool | null {
  const value = parsedObject(annotations?.[PAUSED_POOL_ANNOTATION] ?? '');
  return typeof value?.['paused'] === 'boolean' ? (value as unknown as PausedPool) : null;
}

export const pausedAnnotation = (paused: PausedPool): Record<string, string> => ({
  [PAUSED_POOL_ANNOTATION]: JSON.stringify(paused),
});

/** Returns the merge patch that pauses the pool and its healing, which continues in a paused pool. */
export function pausingPatch(pool: StoredKubeVirtPool, request: string): { metadata: object; spec: object } {
  const { paused = false, autohealing = null } = pool.spec;
  const annotations = pausedAnnotation({ ...(pausedPoolOf(pool) ?? { paused, autohealing }), request });
  return {
    metadata: { resourceVersion: pool.metadata.resourceVersion, annotations },
    spec: { paused: true, autohealing: null },
  };
}

/** Returns the merge patch that gives the pool back what drover has changed. `staysPaused`: whatever it was before. */
export function resumingPatch(
  { metadata: { uid, resourceVersion } }: StoredKubeVirtPool,
  { paused, autohealing }: PausedPool,
  staysPaused: boolean,
): { metadata: object; spec: object } {
  return {
    metadata: { uid, resourceVersion, annotations: { [PAUSED_POOL_ANNOTATION]: null } },
    spec: { paused: staysPaused || paused, autohealing },
  };
}

/** The owner reference of what belongs to a KubeVirt pool. */
export const referenceTo = ({ apiVersion, metadata: { name, uid } }: StoredKubeVirtPool): OwnerReference => ({
  apiVersion: apiVersion ?? apiVersionOf(KubeVirtPools),
  kind: KubeVirtPools.kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

const isGoing = ({ metadata }: Stored): boolean => metadata.deletionTimestamp !== undefined;
const namesOf = (vms: readonly Stored[]): string => formatNames(vms.map(({ metadata }) => metadata.name));

/**
 * Says why the VMs of a KubeVirt pool can't become those of drover's pool as they are; null if they can. `own`: how
 * many that has already; undefined before it is made.
 */
export function whyNotTakenOver(
  kubeVirtPool: StoredKubeVirtPool,
  vms: readonly Stored[],
  { own, wanted }: { own: number | undefined; wanted: number },
): string | null {
  const { name } = kubeVirtPool.metadata;
  const going = vms.filter(isGoing);
  // A paused pool of KubeVirt does not take its finalizer off VMs that are being deleted.
  const end = pausedPoolOf(kubeVirtPool) === null ? 'wait until that has ended' : endedBy(name);
  if (going.length > 0) return `${namesOf(going)} of KubeVirt pool ${name}: being deleted: ${end}`;
  const strangers = vms.filter(
    (vm) => !matchesLabels(kubeVirtPool.spec.selector as LabelSelector, vm.metadata.labels ?? {}),
  );
  // KubeVirt releases such VMs without checking which owner references it removes.
  if (strangers.length > 0)
    return `${namesOf(strangers)} of KubeVirt pool ${name}: no match of its selector: KubeVirt is releasing them`;
  const total = vms.length + (own ?? 0);
  if (total <= wanted) return null;
  const first = own === undefined ? "KubeVirt's pool first" : "drover's pool first, or delete the surplus VMs";
  return `pool ${name} has ${total} VMs and wants ${wanted}, and drover would remove the others: scale ${first}`;
}

const endedBy = (name: string): string => `\`drover release pool ${name}\` lets KubeVirt finish that`;

/**
 * Says why the VMs of a pool can't go to a KubeVirt pool now, which is `kubeVirtPool` if it exists; null if they can.
 */
export function whyNotReleased(
  droverPool: StoredPool,
  kubeVirtPool: StoredKubeVirtPool | undefined,
  vms: readonly Vm[],
): string | null {
  const { name } = droverPool.metadata;
  const change = membershipChangeOf(droverPool);
  if (change === 'unreadable') return unfinished(name, change);
  if (kubeVirtPool !== undefined && pausedPoolOf(kubeVirtPool) === null && vms.length > 0)
    return `KubeVirt pool ${name} exists, and drover has not paused it: delete it, or rename it`;
  const going = vms.filter((vm) => isGoing(vm) || vmView(vm).removing);
  if (going.length > 0) return `pool ${name}: ${namesOf(going)} are leaving it: wait until that has ended`;
  const extra = vms.filter(({ metadata }) => roleOf(metadata.labels) === 'Surge');
  if (extra.length > 0)
    return `pool ${name}: ${namesOf(extra)} are extra while it updates others: wait until that has ended`;
  if (change !== null) return null;
  const healed = (droverPool.status?.healing?.cycles ?? []).map(({ vm }) => vm);
  if (healed.length > 0) return `pool ${name}: ${formatNames(healed)} are being healed: wait until that has ended`;
  const standby = vms.filter(({ metadata }) => roleOf(metadata.labels) === 'Standby');
  if (standby.length > 0)
    return `pool ${name}: ${namesOf(standby)} are standby, which KubeVirt does not support: remove standby from its spec, and wait until they have left`;
  const unnamed = vms.map(({ metadata }) => metadata.name).filter((vm) => numberOf(name, vm) === null);
  return unnamed.length === 0
    ? null
    : `pool ${name}: KubeVirt's pools name their VMs ${name}-0, ${name}-1, …, and can't have ${formatNames(unnamed)}: ` +
        `\`drover detach ${unnamed.slice(0, 9).join(' ')} --decrement\` takes them out, and they keep running`;
}

/** `newest`: what drover calls the revision of KubeVirt's template; null if it knows that template by none. */
interface Revisions {
  newest: string | null;
  /** What KubeVirt calls it. */
  revision: string;
}

/** What a VM and its VMI get as the VM goes to a KubeVirt pool. */
export function releasePatches(
  droverPool: StoredPool,
  kubeVirtPool: StoredKubeVirtPool,
  { newest, revision }: Revisions,
  { vm, vmi }: VmWithVmi,
): MovePatches {
  const { matchLabels } = kubeVirtPool.spec.selector as LabelSelector;
  const { name, uid } = droverPool.metadata;
  const isNewest = newest !== null && vmView(vm).revision === newest;
  const runsNewest = isNewest && vmi !== undefined && vmiView(vmi).revision === newest;
  const { labels, annotations } = asFormer(name, vm.metadata);
  const of = asFormer(name, vmi?.metadata ?? {});
  return {
    vm: transferPatch(vm, {
      from: uid,
      to: referenceTo(kubeVirtPool),
      labels: { ...labels, ...matchLabels, [KUBEVIRT_REVISION_LABEL]: isNewest ? revision : null },
      annotations: { ...annotations, [DETACHED_ANNOTATION]: null },
      strategy: strategyWithoutDrain(droverPool, vm),
      finalizers: { add: KUBEVIRT_POOL_FINALIZER, remove: DISKS_FINALIZER },
    }),
    vmi: {
      labels: { ...of.labels, [KUBEVIRT_REVISION_LABEL]: runsNewest ? revision : null },
      annotations: of.annotations,
    },
  };
}

/** KubeVirt lets go of VMs that don't match the selector of their pool, and breaks on it: says so of such a VM. */
export function whyNoMatch({ metadata: { name }, spec }: StoredKubeVirtPool, vm: Stored): string | null {
  const selector = spec.selector as LabelSelector;
  return matchesLabels(selector, { ...vm.metadata.labels, ...selector.matchLabels })
    ? null
    : `does not match the selector of KubeVirt pool ${name}: label it so that it does`;
}

/** Returns the VMs that KubeVirt would rewrite or restart. `current`: revisions that are as its template is now. */
export const restartedByKubeVirt = (vms: readonly VmWithVmi[], current: ReadonlySet<string>): Vm[] =>
  vms.flatMap(({ vm, vmi }) => {
    const of = vm.metadata.labels?.[KUBEVIRT_REVISION_LABEL];
    const runs = vmi === undefined ? of : vmi.metadata.labels?.[KUBEVIRT_REVISION_LABEL];
    return of !== undefined && current.has(of) && runs === of ? [] : [vm];
  });
