import {
  DETACHED_ANNOTATION,
  JOINED_ANNOTATION,
  KUBEVIRT_POOL_FINALIZER,
  KUBEVIRT_REVISION_LABEL,
  POOL_LABEL,
  REMOVING_ANNOTATION,
  REVISION_LABEL,
  ROLE_LABEL,
} from '../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import type { VirtualMachine } from '../from-object/vm.ts';
import { revisionOf } from '../template/revision.ts';
import { poolTemplate } from '../template/template.ts';
import { ownerReference, vmFromTemplate } from '../template/vm-from-template.ts';
import { numberOf } from '../template/vm-names.ts';
import { formerMemberOf } from '../views/annotations/former-member.ts';
import { memberOfAnnotation } from '../views/annotations/member-of.ts';
import type { StoredPool } from '../views/pool.ts';
import { runsExternal, strategyOfReturned } from './eviction-strategy.ts';
import { fitOf, type Fit } from './fit.ts';
import type { MetadataPatch, Transfer } from './transfer.ts';

/** A VM that comes into a pool, and what it is there. */
export interface Joining {
  /** Name of the VM. */
  name: string;
  /** Whether the pool would give its name. */
  isNamed: boolean;
  /** The revision of its spec, and the revision that its VMI runs; null if the pool does not know it. */
  revision: string | null;
  vmiRevision: string | null;
  /** What the pool's next rollout does to the VM. */
  fate: 'unchanged' | 'updated' | 'restarted';
  fit: Fit;
  /** The eviction strategy that `drain` gives it again; undefined if it keeps its own. */
  strategy: string | undefined;
}

/**
 * Compares a VM with the pool's template. A VM that differs and was the pool's before is of the revision that it had:
 * what users have changed since is kept by updates, as in any VM of the pool.
 */
export function joining(pool: StoredPool, vm: Stored<VirtualMachine>, vmi: Stored | undefined): Joining {
  const { name } = pool.metadata;
  const number = numberOf(name, vm.metadata.name);
  const template = poolTemplate(pool.spec);
  const strategy = strategyOfReturned(pool, vm);
  const fit = fitOf(withStrategy(vm, strategy), vmi, vmFromTemplate(pool, template, number ?? 0));
  // Another controller may have made anything of it since.
  const record = controllerOf(vm) === undefined ? formerMemberOf(vm.metadata.annotations) : null;
  const former = record?.pool === name ? record.revision : null;
  const newest = revisionOf(template);
  const revision = fit.differs.length === 0 ? newest : former;
  const isNewest = revision === newest && fit.vmiDiffers.length === 0;
  // What has started meanwhile has started without it.
  const isForeign = former === null || (strategy !== undefined && !runsExternal(vmi));
  const ran = isForeign ? null : (formerMemberOf(vmi?.metadata.annotations)?.revision ?? former);
  const vmiRevision = isNewest ? newest : ran;
  const fate = fateOf(newest, revision, vmiRevision);
  return { name: vm.metadata.name, isNamed: number !== null, revision, vmiRevision, fate, fit, strategy };
}

function withStrategy(vm: Stored<VirtualMachine>, strategy: string | undefined): Stored<VirtualMachine> {
  const { template } = vm.spec ?? {};
  if (strategy === undefined || template === undefined) return vm;
  return {
    ...vm,
    spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, evictionStrategy: strategy } } },
  };
}

function fateOf(newest: string, revision: string | null, vmiRevision: string | null): Joining['fate'] {
  if (revision !== newest) return 'updated';
  return vmiRevision === newest ? 'unchanged' : 'restarted';
}

const labelsOf = (pool: string, revision: string | null): Record<string, string | null> => ({
  [POOL_LABEL]: pool,
  [REVISION_LABEL]: revision,
});

/**
 * What the VM gets as it joins the pool. `from`: UID of the controller that it has now; null for none. `now`: by the
 * API server's clock, in milliseconds since the epoch.
 */
export const joiningTransfer = (
  { metadata }: StoredPool,
  { name, revision, fit, strategy }: Joining,
  from: string | null,
  now: number,
): Transfer => ({
  from,
  to: ownerReference('VirtualMachinePool', metadata),
  labels: {
    ...(revision === null ? {} : fit.metadata.labels),
    ...labelsOf(metadata.name, revision),
    [KUBEVIRT_REVISION_LABEL]: null,
    [ROLE_LABEL]: null,
  },
  annotations: {
    ...(revision === null ? {} : fit.metadata.annotations),
    [DETACHED_ANNOTATION]: null,
    // All VMs of a pool that is taken over come at once.
    [JOINED_ANNOTATION]: from === null ? 'true' : null,
    ...memberOfAnnotation(metadata.uid, name, now),
    // A user may have put the VM back that was leaving another pool.
    [REMOVING_ANNOTATION]: null,
  },
  ...(revision === null ? {} : { template: fit.vmiMetadata }),
  strategy,
  finalizers: { remove: KUBEVIRT_POOL_FINALIZER },
});

export const joiningVmi = ({ metadata }: StoredPool, { vmiRevision, fit }: Joining): MetadataPatch => ({
  labels: { ...(vmiRevision === null ? {} : fit.vmiMetadata.labels), ...labelsOf(metadata.name, vmiRevision) },
  annotations: { ...(vmiRevision === null ? {} : fit.vmiMetadata.annotations), [DETACHED_ANNOTATION]: null },
});
