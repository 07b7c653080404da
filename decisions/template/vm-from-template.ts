import {
  API_VERSION,
  NOT_YET_RUN_ANNOTATION,
  POOL_LABEL,
  REVISION_LABEL,
  ROLE_LABEL,
} from '../../api/labels-and-annotations.ts';
import type { OwnerReference } from '../../api/objects.ts';
import type { SetKind, VmOwnerKind } from '../../api/owner-kinds.ts';
import type { NameGeneration } from '../../api/pool/pool.ts';
import { field, isObject, type Json } from '../lib/json.ts';
import type { StoredReplicaSet, StoredSet, StoredVmOwner } from '../views/owner.ts';
import type { StoredPool } from '../views/pool.ts';
import type { MemberRole } from '../views/vm.ts';
import { asList, diskReferences, NAME_GENERATION_FLAGS, numberedReferences, volumesOf } from './references.ts';
import { revisionOf } from './revision.ts';
import type { PoolTemplate } from './template.ts';
import { vmName } from './vm-names.ts';

/** A member of a pool or a set as sent to the API server: the template, plus what ties it to its owner. */
export interface NewMember {
  apiVersion: 'kubevirt.io/v1';
  kind: 'VirtualMachine' | 'VirtualMachineInstance';
  metadata: {
    name: string;
    namespace: string;
    labels: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences: (OwnerReference & { controller: true; blockOwnerDeletion: true })[];
  };
  spec: Json;
  [field: string]: unknown;
}

export interface NewVirtualMachine extends NewMember {
  kind: 'VirtualMachine';
}

/**
 * Returns VM `number` of `pool`, made from `template`: the pool's own, or that of another of its revisions. Fields of
 * the template that drover doesn't know are passed through. Its role is for its pool to give, and not for the template.
 */
export function vmFromTemplate(
  pool: StoredPool,
  template: PoolTemplate,
  number: number,
  role: MemberRole | null = null,
): NewVirtualMachine {
  const { name, namespace } = pool.metadata;
  const droverLabels = { [POOL_LABEL]: name, [REVISION_LABEL]: revisionOf(template) };
  const spec = structuredClone(template.spec) as Json;
  nameDisks(spec, String(number), template.nameGeneration);
  const vmi = vmiMetadataIn(spec);
  vmi.labels = { ...vmi.labels, ...droverLabels };
  const { [ROLE_LABEL]: _role, ...labels } = template.metadata?.labels ?? {};
  const annotations = { ...template.metadata?.annotations };
  // A value from the template would soon be wrong for every VM.
  if (pool.spec.autohealing === undefined) delete annotations[NOT_YET_RUN_ANNOTATION];
  else annotations[NOT_YET_RUN_ANNOTATION] = '';
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: {
      name: vmName(name, number),
      namespace,
      labels: { ...labels, ...droverLabels, ...(role === null ? {} : { [ROLE_LABEL]: role }) },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ownerReferences: [ownerReference('VirtualMachinePool', pool.metadata)],
    },
    spec,
  };
}

/** Returns a copy of the VM that tells no revision, for no template makes such a VM. */
export function ofNoRevision<Vm extends NewMember>(vm: Vm): Vm {
  const copy = structuredClone(vm);
  const vmi = (field(copy.spec, 'template', 'metadata') ?? {}) as { labels?: Record<string, string> };
  for (const { labels } of [copy.metadata, vmi]) delete labels?.[REVISION_LABEL];
  return copy;
}

/** Returns the member of this name of a set. */
export function memberFromTemplate(kind: SetKind, set: StoredSet, name: string): NewMember {
  const { metadata } = set;
  const { labels = {}, annotations = {} } = set.spec.template.metadata ?? {};
  const isOfVms = kind === 'VirtualMachineReplicaSet';
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: isOfVms ? 'VirtualMachine' : 'VirtualMachineInstance',
    metadata: {
      name,
      namespace: metadata.namespace,
      labels,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ownerReferences: [ownerReference(kind, metadata)],
    },
    spec: isOfVms ? vmSpecOf(set as StoredReplicaSet, name) : set.spec.template.spec,
  };
}

/**
 * Returns the spec of the VM of this name. Its VMI has the labels of the VM, so that an autoscaler finds its pod by the
 * selector; its disks have the end of its name.
 */
function vmSpecOf({ metadata, spec: { template } }: StoredReplicaSet, name: string): Json {
  const spec = structuredClone(template.spec) as Json;
  nameDisks(spec, name.slice(metadata.name.length + 1));
  const vmi = vmiMetadataIn(spec);
  vmi.labels = { ...template.metadata?.labels, ...vmi.labels };
  return spec;
}

function vmiMetadataIn(spec: Json): { labels?: Json } {
  const vmi = (spec['template'] ??= {}) as { metadata?: { labels?: Json } };
  return (vmi.metadata ??= {});
}

/** Returns the reference of a member to the owner that controls it. */
export const ownerReference = (
  kind: VmOwnerKind,
  { name, uid }: StoredVmOwner['metadata'],
): NewMember['metadata']['ownerReferences'][number] => ({
  apiVersion: API_VERSION,
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

/**
 * Gives the VM its own disks and, if the pool asks for it, its own Secrets and ConfigMaps: appends `-<number>` to their
 * names.
 */
function nameDisks(spec: Json, postfix: string, nameGeneration: NameGeneration = {}): void {
  const ownDisks = new Set<unknown>();
  for (const { metadata } of asList(spec['dataVolumeTemplates'])) {
    ownDisks.add(field(metadata, 'name'));
    append(metadata, 'name', postfix);
  }
  for (const volume of volumesOf(spec)) {
    for (const [holder, key] of diskReferences(volume))
      if (ownDisks.has(field(holder, key))) append(holder, key, postfix);
  }
  for (const flag of NAME_GENERATION_FLAGS.filter((flag) => nameGeneration[flag] === true))
    for (const [holder, key] of numberedReferences[flag](spec)) append(holder, key, postfix);
}

function append(holder: unknown, key: string, postfix: string): void {
  if (isObject(holder) && typeof holder[key] === 'string') holder[key] = `${holder[key]}-${postfix}`;
}
