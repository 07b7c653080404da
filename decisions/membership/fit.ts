import { NOT_YET_RUN_ANNOTATION, POOL_LABEL, REVISION_LABEL } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import type { VirtualMachine } from '../from-object/vm.ts';
import { field, isObject, type Json } from '../lib/json.ts';
import { merge, UNKNOWN } from '../merge/merge.ts';
import { mergePatch, mergeVm } from '../merge/vm.ts';
import { asList } from '../template/references.ts';
import type { NewVirtualMachine } from '../template/vm-from-template.ts';
import type { MetadataPatch } from './transfer.ts';

/** How a VM that its pool has not made compares with the VM that the pool would make. */
export interface Fit {
  /** Paths of the fields of its spec that would have to change; empty if its spec is as the template makes it. */
  differs: string[];
  /** The same of its running VMI, which a change needs a restart for. */
  vmiDiffers: string[];
  /** Labels and annotations of the template that the VM lacks, and its VMI: they disturb nothing. */
  metadata: MetadataPatch;
  vmiMetadata: MetadataPatch;
}

/**
 * Compares as updates do, with nothing known of where the VM comes from: what the template sets counts, and not what
 * KubeVirt's webhooks or users have added. Disks of other names are the VM's own, and no difference.
 */
export function fitOf(vm: Stored<VirtualMachine>, vmi: Stored | undefined, target: NewVirtualMachine): Fit {
  const merged = mergeVm(vm, null, target);
  const { metadata, spec = {} } = mergePatch(vm, merged) ?? {};
  const { template, ...rest } = spec;
  const { metadata: vmiMetadata, ...vmiSpec } = isObject(template) ? template : {};
  return {
    differs: [...leaves(rest, 'spec'), ...leaves(vmiSpec, 'spec.template')],
    vmiDiffers: vmi === undefined ? [] : leaves(vmiChange(vmi, merged, target), 'spec.template.spec'),
    metadata: foreign(metadata),
    vmiMetadata: foreign(vmiMetadata),
  };
}

/** What would have to change in the VMI for it to run the target's spec. Disks are those of the VM. */
function vmiChange(vmi: Stored, merged: Stored<VirtualMachine>, target: NewVirtualMachine): Json {
  const wanted = field(target.spec, 'template', 'spec') as Json;
  const named = new Set(asList(wanted['volumes']).map(({ name }) => name));
  const volumes = asList(field(merged.spec, 'template', 'spec', 'volumes')).filter(({ name }) => named.has(name));
  const spec = volumes.length === 0 ? wanted : { ...wanted, volumes };
  const after = merge({ live: vmi['spec'], base: UNKNOWN, target: spec }, 'spec');
  const patch = mergePatch({ metadata: {}, spec: vmi['spec'] as Json }, { metadata: {}, spec: after as Json });
  return patch?.spec ?? {};
}

const DROVER_KEYS = new Set([POOL_LABEL, REVISION_LABEL, NOT_YET_RUN_ANNOTATION]);

/** The caller, which knows what the VM is, gives drover's own. */
function foreign(metadata: unknown): MetadataPatch {
  const texts = (key: string): Record<string, string> => {
    const all = Object.entries((field(metadata, key) ?? {}) as Record<string, string>);
    return Object.fromEntries(all.filter(([name, value]) => !DROVER_KEYS.has(name) && value !== null));
  };
  return { labels: texts('labels'), annotations: texts('annotations') };
}

function leaves(value: unknown, path: string): string[] {
  if (!isObject(value)) return [path];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, `${path}.${key}`));
}
