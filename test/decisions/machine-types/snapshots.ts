import type { PoolSpec } from '../../../api/pool/pool.ts';
import { namespacedName } from '../../../decisions/disruption-budget/restart-budget.ts';
import type { Fleet } from '../../../decisions/machine-types/look.ts';
import {
  groupOf,
  transitionRules,
  type TransitionRules,
  type TransitionRulesInput,
} from '../../../decisions/machine-types/transition-rules.ts';
import type { Transition, TransitionResult, TransitionScope } from '../../../decisions/machine-types/transition.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { TransitionRecord } from '../../../decisions/views/annotations/transition-record.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi } from '../fixtures/fleets.ts';

/** VMs for the tests of machine type transitions. Fields that a test doesn't care about have defaults. */

export const OLD = 'pc-q35-rhel8.6.0';
export const NEW = 'pc-q35-rhel9.6.0';
export const ID = '0a1b2c3d';
export const OTHER = '99999999';
/** The other transition continues. */
export const OTHER_RUNS: ReadonlyMap<string, string> = new Map([[OTHER, 'shop/other']]);

export const scopeOf = (scope: Partial<TransitionScope> = {}): TransitionScope => ({
  glob: '*rhel8.*',
  namespaces: null,
  labelSelector: null,
  names: [],
  exclude: [],
  only: null,
  undoes: null,
  ...scope,
});

export const aTransition = ({
  scope,
  ...fields
}: Partial<Omit<Transition, 'scope'>> & { scope?: Partial<TransitionScope> } = {}): Transition => ({
  scope: scopeOf(scope),
  to: null,
  restartNow: true,
  maxRestarts: 1,
  maxFailures: 0,
  deadlineMs: 600_000,
  windows: [],
  force: false,
  requestedBy: 'ann',
  reason: null,
  ...fields,
});

/** A VM of the old type, without an owner. */
export const anOldVm = (name: string, fields: Partial<VmView> = {}): VmView =>
  aVm(name, { owner: null, machineType: OLD, ...fields });
/** The VM's VMI, of the same type. */
export const anOldVmi = (vm: VmView, fields: Partial<VmiView> = {}): VmiView =>
  aVmi(vm, { machineType: vm.machineType, ...fields });

export const recordOfOurs = (fields: Partial<TransitionRecord> = {}): TransitionRecord => ({
  id: ID,
  from: OLD,
  to: NEW,
  vmiType: OLD,
  at: '2026-01-02T03:04:05Z',
  ...fields,
});

/** Rules that know the result for an old VM: it gets the new type. */
export function rulesOf(
  transition: Transition,
  { results, othersRunning = new Map<string, string>() }: Partial<TransitionRulesInput> = {},
): TransitionRules {
  const known = results ?? [resultOf(anOldVm('any'), transition.to)];
  return transitionRules({ ref: { id: ID }, transition, results: known, othersRunning });
}

export const resultOf = (
  vm: VmView,
  wanted: string | null,
  fields: Partial<TransitionResult> = {},
): TransitionResult => ({
  ...groupOf(vm, wanted),
  to: wanted ?? NEW,
  vms: 1,
  fault: null,
  ...fields,
});

/** A drover pool whose template has this machine type. */
export function aTypedPool(type: string | null, spec: Partial<PoolSpec> = {}): StoredPool {
  const template = {
    spec: {
      runStrategy: 'Always' as const,
      template: { spec: { domain: type === null ? {} : { machine: { type } } } },
    },
  };
  const pool = aPool({ template, ...spec });
  const conditions = [{ type: 'Progressing', status: 'False' as const, reason: 'Complete' }];
  return {
    ...pool,
    status: { replicas: pool.spec.replicas, updateRevision: revisionOf(pool.spec.template), conditions },
  };
}

/** A VM created by the pool. */
export const aPoolVm = (number: number, pool: StoredPool, fields: Partial<VmView> = {}): VmView =>
  aVm(`web-${number}`, { machineType: OLD, revision: revisionOf(pool.spec.template), ...fields });

/** VMs, their VMIs (by default, one of the spec's type for each VM that has a VMI) and their pool. */
export function snapshotOf(
  vms: readonly VmView[],
  { vmis, pool }: { vmis?: VmiView[]; pool?: StoredPool } = {},
): Fleet {
  const byKey = new Map(vms.map((vm) => [namespacedName(vm), vm]));
  const vmiOfVm = new Map(
    (vmis ?? vms.filter((vm) => vm.hasVmi).map((vm) => anOldVmi(vm))).map((vmi) => [vmi.vmUid, vmi]),
  );
  const owner =
    pool === undefined ? undefined : { pool, vms: () => vms.filter((vm) => vm.owner?.uid === pool.metadata.uid) };
  return {
    vmOf: (key) => byKey.get(key),
    vmiOf: (vm) => vmiOfVm.get(vm.uid),
    poolOf: (vm) => (vm.owner?.uid === owner?.pool.metadata.uid ? owner : undefined),
    vms: () => vms,
  };
}
