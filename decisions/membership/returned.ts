import { KUBEVIRT_REVISION_LABEL, POOL_LABEL } from '../../api/labels-and-annotations.ts';
import { standbyRules } from '../../api/rules/pool-defaults.ts';
import { formatNames } from '../lib/names.ts';
import { allowanceOf, refusedOf } from '../owners/failures.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import { refusedLast } from '../owners/refused-vms.ts';
import { nameOf, targets, vmNames, type Member, type PoolStep } from '../owners/steps.ts';
import { numberOf } from '../template/vm-names.ts';
import { namedAdoptions } from '../views/annotations/named-vms.ts';
import type { StoredPool } from '../views/pool.ts';
import { isRegular, isStandby, type VmView } from '../views/vm.ts';
import { membershipChangeOf } from './change.ts';
import { isRestoring } from './restore.ts';

/**
 * Whether this VM was the pool's and has come back from a backup, which drops owner references and status and keeps
 * labels and annotations. The evidence: the VM has no controller, it has the pool's label and a name that the pool
 * gives, and its record names a pool of another UID, or is older than the VM itself. A VM whose owner reference was
 * taken off by hand has a record that names the pool, and is not younger. The evidence is worth no more than an owner
 * reference, which every client that may change the VM could write as well.
 */
export const isReturned = ({ metadata: { name, uid } }: StoredPool, vm: VmView): boolean =>
  vm.owner === null &&
  !vm.deleting &&
  vm.memberOf !== null &&
  (vm.memberOf !== uid || vm.madeAgain) &&
  vm.ownLabels[POOL_LABEL] === name &&
  vm.ownLabels[KUBEVIRT_REVISION_LABEL] === undefined &&
  numberOf(name, vm.name) !== null;

/** VMs that have come back, or that users want in the pool, and what becomes of them. */
export interface Returned {
  steps: Extract<PoolStep, { kind: 'adopt' | 'adoptNamed' }>[];
  /** Names of the VMs that the pool adopts, now or once the API server lets it: no VMs are made in their places. */
  replicas: string[];
  standby: string[];
  /**
   * VMs beyond the number that the pool wants: they are left as they are. No VM leaves the pool for a VM that returns.
   */
  surplus: VmView[];
}

type ReturnedInput = Pick<PlanInput, 'pool' | 'vms' | 'uncontrolled' | 'inProgress' | 'burst' | 'backoffs'>;

/**
 * Returns the steps by which VMs that have come back become the pool's again, as many as it misses. An extra VM of an
 * update is a replica now, as that update is over. A standby VM stays one if standby VMs are missing.
 */
export function returnedVms(input: ReturnedInput): Returned {
  const { pool, uncontrolled = [], inProgress } = input;
  if (pool.metadata.deletionTimestamp !== undefined) return NONE;
  const named = joiningByName(pool);
  const creating = [...inProgress.creating, ...named.map(({ name }) => name)];
  const { standby = [] } = inProgress;
  const isBusy = ({ name }: VmView): boolean => creating.includes(name) || standby.includes(name);
  const numberIn = ({ name }: VmView): number => numberOf(pool.metadata.name, name) ?? 0;
  const found = uncontrolled
    .filter((vm) => isReturned(pool, vm) && !isBusy(vm))
    .sort((a, b) => numberIn(a) - numberIn(b));
  if (found.length === 0 && named.length === 0) return NONE;
  const { asReplicas, asStandby } = placed({ ...input, inProgress: { ...inProgress, creating } }, found);
  const adopted = new Set([...asReplicas, ...asStandby]);
  return {
    steps: [...adoptionByName(input, named), ...adoption(input, asReplicas), ...adoption(input, asStandby, 'Standby')],
    replicas: [...named.map(({ name }) => name), ...asReplicas.map(nameOf)],
    standby: asStandby.map(nameOf),
    surplus: found.filter((vm) => !adopted.has(vm)),
  };
}

/** Gives the free places to VMs that have come back, in this order. */
function placed(
  { pool, vms, inProgress }: ReturnedInput,
  found: readonly VmView[],
): Record<'asReplicas' | 'asStandby', VmView[]> {
  const { creating, standby: making = [] } = inProgress;
  const openStandby = missing(standbyRules(pool.spec).replicas, vms.filter(isStandby), making);
  const asStandby = found.filter(wasStandby).slice(0, openStandby);
  // A standby VM that is one too many takes the place of a replica that has not come back.
  const others = [
    ...found.filter((vm) => !wasStandby(vm)),
    ...found.filter((vm) => wasStandby(vm) && !asStandby.includes(vm)),
  ];
  return { asStandby, asReplicas: others.slice(0, missing(pool.spec.replicas, vms.filter(isRegular), creating)) };
}

/** A record of roles is of the pool's earlier self, or of earlier VMs: only the label has come back. */
const wasStandby = ({ roleLabel }: VmView): boolean => roleLabel === 'Standby';

const missing = (wanted: number, there: readonly VmView[], coming: readonly string[]): number =>
  Math.max(wanted - new Set([...there.map(nameOf), ...coming]).size, 0);

const NONE: Returned = { steps: [], replicas: [], standby: [], surplus: [] };

/** VMs that users want in the pool, whatever its number: they have changed that with the names. */
const joiningByName = ({ metadata }: StoredPool): Member[] =>
  [...namedAdoptions(metadata.annotations).vms].map(([name, { uid }]) => ({ name, uid }));

/** Also of VMs that have joined it: their names are then taken off the pool. */
function adoptionByName(input: ReturnedInput, named: readonly Member[]): Returned['steps'] {
  const { creating } = input.inProgress;
  const vms = isRestoring(input.pool)
    ? []
    : tried(
        input,
        named.filter(({ name }) => !creating.includes(name)),
      );
  const reason = `adopt ${formatNames(vms.map(({ name }) => name))}: a user wants them in the pool`;
  return vms.length === 0 ? [] : [{ kind: 'adoptNamed', vms, reason }];
}

/** Which of these VMs are adopted now. */
function tried<T extends Member>(input: ReturnedInput, vms: readonly T[]): T[] {
  const { pool, inProgress } = input;
  // A takeover or a release may be about these.
  if (membershipChangeOf(pool) !== null) return [];
  const remaining = Math.min(allowanceOf(input, 'FailedAdopt'), input.burst - inProgress.creating.length);
  return refusedLast(vms, ({ name }) => name, refusedOf(input, 'FailedAdopt')).slice(0, Math.max(remaining, 0));
}

function adoption(input: ReturnedInput, vms: readonly VmView[], role?: 'Standby'): Returned['steps'] {
  const chosen = tried(input, vms);
  if (chosen.length === 0) return [];
  const reason = `adopt ${vmNames(chosen)}: a backup has brought them back without their owner`;
  return [{ kind: 'adopt', vms: targets(chosen), ...(role === undefined ? {} : { role }), reason }];
}
