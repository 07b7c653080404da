import type { Disruption, PoolSpec, VmTemplate } from '../../api/pool/pool.ts';
import { updateRules } from '../../api/rules/pool-defaults.ts';
import { annotationsView } from '../from-object/own-annotations.ts';
import { isActive } from '../health/availability.ts';
import type { WrittenVm } from '../merge/vm.ts';
import type { PoolTemplate } from '../template/template.ts';
import { vmFromTemplate, type NewVirtualMachine } from '../template/vm-from-template.ts';
import { numberOf } from '../template/vm-names.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import { disruptionBetween } from '../vm-update/disruption.ts';
import { driftOf, withoutDrift, type DriftedField } from './drift.ts';

/** Template of a revision of the pool; undefined if it is no longer kept. */
type TemplateOf = (revision: string) => PoolTemplate | undefined;

/** A view has all that drift depends on, but for the templates of revisions, which never change. */
const known = new WeakMap<VmView, readonly DriftedField[]>();
const NONE: readonly DriftedField[] = [];

/**
 * Returns how a VM differs from the template of the revision that it has; empty if that is no longer kept, or if they
 * can't be compared.
 */
export function driftOfMember(pool: StoredPool, vm: VmView, templateOf: TemplateOf): readonly DriftedField[] {
  const found = known.get(vm);
  if (found !== undefined) return found;
  const made = madeFrom(pool, vm, templateOf);
  if (made === undefined) return NONE;
  const drift = driftOf({ vm: written(vm), transition: vm.transition }, made);
  const kept = drift.length === 0 ? NONE : drift;
  known.set(vm, kept);
  return kept;
}

function madeFrom(pool: StoredPool, vm: VmView, templateOf: TemplateOf): NewVirtualMachine | undefined {
  const template = vm.revision === null ? undefined : templateOf(vm.revision);
  const number = numberOf(pool.metadata.name, vm.name);
  if (template === undefined || number === null || vm.spec === null) return undefined;
  const made = vmFromTemplate(pool, template, number);
  return { ...made, metadata: { ...made.metadata, annotations: annotationsView(made.metadata.annotations) } };
}

const written = ({ ownLabels, annotations, spec }: VmView): WrittenVm => ({
  metadata: { labels: ownLabels, annotations },
  spec: spec!,
});

export interface DriftedVm {
  vm: VmView;
  fields: readonly DriftedField[];
}

/** Returns the VMs of the pool that differ from the templates of their own revisions. */
export const driftedVms = (pool: StoredPool, vms: readonly VmView[], templateOf: TemplateOf): DriftedVm[] =>
  vms
    .filter(isActive)
    .map((vm) => ({ vm, fields: driftOfMember(pool, vm, templateOf) }))
    .filter(({ fields }) => fields.length > 0);

/** Reports whether the pool corrects whatever drifts. */
export function correctsAll({ updateStrategy }: PoolSpec): boolean {
  const rules = updateRules(updateStrategy);
  return rules.kind === 'proactive' && rules.drift === 'Correct';
}

/**
 * Returns what it takes to correct the VM; null if no user wants that, or nothing will be corrected. A user's order
 * is to be taken off also from a VM that is right by now.
 */
export function correctionOf(
  pool: StoredPool,
  vm: VmView,
  { templateOf, strategy }: { templateOf: TemplateOf; strategy: 'Stage' | 'LiveUpdate' },
): Disruption | null {
  if (!vm.correctionRequested && !correctsAll(pool.spec)) return null;
  if (driftOfMember(pool, vm, templateOf).length === 0) return vm.correctionRequested ? 'None' : null;
  const made = madeFrom(pool, vm, templateOf);
  if (made === undefined) return null;
  const before = written(vm);
  return disruptionOf(before, withoutDrift(before, vm.transition, made), strategy);
}

/** Returns what it takes to correct the VMs of a pool whose kept templates are these. */
export const correctionIn =
  ({ pool, strategy }: { pool: StoredPool; strategy: 'Stage' | 'LiveUpdate' }, templateOf: TemplateOf) =>
  (vm: VmView): Disruption | null =>
    correctionOf(pool, vm, { templateOf, strategy: pool.spec.vmRolloutStrategy ?? strategy });

/** What it takes for a VMI of the one to become one of the other. */
export const disruptionOf = (before: WrittenVm, after: WrittenVm, strategy: 'Stage' | 'LiveUpdate'): Disruption =>
  disruptionBetween({ spec: before.spec } as VmTemplate, { spec: after.spec } as VmTemplate, strategy);
