import { API_VERSION, NOT_YET_RUN_ANNOTATION, POOL_LABEL, REVISION_LABEL } from '../../api/names.ts';
import type { NameGeneration } from '../../api/pool/pool.ts';
import { field, isObject, type Json } from '../lib/json.ts';
import { revisionOf } from '../revisions/hash.ts';
import { vmName } from '../scaling/vm-names.ts';
import type { StoredPool } from '../views/pool.ts';
import type { StoredReplicaSet, StoredVmOwner, VmOwnerKind } from '../views/vm-owner.ts';
import { asList, configMapReferences, diskReferences, secretReferences, volumesOf } from './references.ts';
import type { PoolTemplate } from './template.ts';

/** A VirtualMachine as sent to the API server: the template, plus what ties it to this pool and number. */
export interface NewVirtualMachine {
  apiVersion: 'kubevirt.io/v1';
  kind: 'VirtualMachine';
  metadata: {
    name: string;
    namespace: string;
    labels: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences: {
      apiVersion: string;
      kind: string;
      name: string;
      uid: string;
      controller: true;
      blockOwnerDeletion: true;
    }[];
  };
  spec: Json;
  [field: string]: unknown;
}

/**
 * Returns VM `number` of `pool`, made from `template`: the pool's own, or that of another of its revisions. Fields of
 * the template that drover doesn't know are passed through.
 */
export function vmFromTemplate(pool: StoredPool, template: PoolTemplate, number: number): NewVirtualMachine {
  const { name, namespace } = pool.metadata;
  const ours = { [POOL_LABEL]: name, [REVISION_LABEL]: revisionOf(template) };
  const spec = structuredClone(template.spec) as Json;
  nameDisks(spec, String(number), template.nameGeneration);
  const vmi = (spec['template'] ??= {}) as Json;
  const vmiMetadata = (vmi['metadata'] ??= {}) as Json;
  vmiMetadata['labels'] = { ...(vmiMetadata['labels'] as Json | undefined), ...ours };
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
      labels: { ...template.metadata?.labels, ...ours },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ownerReferences: [ownerReference('VirtualMachinePool', pool.metadata)],
    },
    spec,
  };
}

/**
 * Returns the VM of this name of a replica set. Its VMI has the labels of the VM, so that an autoscaler finds its pod
 * by the selector; its disks have the end of its name.
 */
export function replicaFromTemplate(
  { metadata, spec: { template } }: StoredReplicaSet,
  name: string,
): NewVirtualMachine {
  const { labels = {}, annotations = {} } = template.metadata ?? {};
  const spec = structuredClone(template.spec) as Json;
  nameDisks(spec, name.slice(metadata.name.length + 1));
  const vmi = (spec['template'] ??= {}) as Json;
  const vmiMetadata = (vmi['metadata'] ??= {}) as Json;
  vmiMetadata['labels'] = { ...labels, ...(vmiMetadata['labels'] as Json | undefined) };
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: {
      name,
      namespace: metadata.namespace,
      labels,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ownerReferences: [ownerReference('VirtualMachineReplicaSet', metadata)],
    },
    spec,
  };
}

/** Returns the reference of a VM to the owner that controls it. */
export const ownerReference = (
  kind: VmOwnerKind,
  { name, uid }: StoredVmOwner['metadata'],
): NewVirtualMachine['metadata']['ownerReferences'][number] => ({
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
    if (nameGeneration.appendPostfixToSecretReferences === true) {
      for (const [holder, key] of secretReferences(volume)) append(holder, key, postfix);
    }
    if (nameGeneration.appendPostfixToConfigMapReferences === true) {
      for (const [holder, key] of configMapReferences(volume)) append(holder, key, postfix);
    }
  }
}

function append(holder: unknown, key: string, postfix: string): void {
  if (isObject(holder) && typeof holder[key] === 'string') holder[key] = `${holder[key]}-${postfix}`;
}
