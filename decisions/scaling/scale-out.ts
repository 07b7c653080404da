import { scaleInRules, standbyRules } from '../../api/rules/pool-defaults.ts';
import { formatNames } from '../lib/names.ts';
import { allowanceOf, refusedOf } from '../owners/failures.ts';
import { refusedLast } from '../owners/refused-vms.ts';
import { freeNumbers, numberOf, vmName } from '../template/vm-names.ts';
import { isStandby } from '../views/vm.ts';
import type { ScaleInput, ScaleStep } from './scale-input.ts';
import { removesSurplus } from './surplus.ts';

/** How VMs come into a pool. */

/**
 * Returns how many replaced VMs must come back even if the pool has a surplus: unless scale-in is proactive, and now,
 * scaling would not have removed them. `begun`: names that are being created.
 */
export function comingBack(
  { pool, vms, isVmNameTaken, now }: ScaleInput,
  first: readonly string[],
  begun: readonly string[],
): number {
  if (removesSurplus(scaleInRules(pool.spec.scaleInStrategy), now)) return 0;
  const there = new Set([...vms.map(({ name }) => name), ...begun]);
  return first.filter((name) => !there.has(name) && !isVmNameTaken(name)).length;
}

/**
 * `promoted`: how many standby VMs become replicas in this plan. `others`: how many replicas there are without the
 * missing ones.
 */
export function scaleOut(
  input: ScaleInput,
  missing: number,
  ownNames: ReadonlySet<string>,
  { promoted, others }: { promoted: number; others: number },
): ScaleStep[] {
  const { name } = input.pool.metadata;
  const { inProgress, first } = input;
  const begun = inProgress.creating.length + promoted;
  const numbers = numbersToCreate(input, { missing, ownNames, first, begun, failure: 'FailedCreate' });
  if (numbers.length === 0) return [];
  const names = formatNames(numbers.map((number) => vmName(name, number)));
  const { replicas } = input.pool.spec;
  const reason = `create ${names}: ${missing} missing of ${replicas}`;
  return [{ kind: 'create', numbers, ...mostOf(others + missing, replicas), reason }];
}

/** Creates the standby VMs that are missing. `pendingCreates`: how many are being created. */
export function refill(input: ScaleInput, pendingCreates: number, ownNames: ReadonlySet<string>): ScaleStep[] {
  const { pool, vms, inProgress, firstStandby: first } = input;
  const { replicas } = standbyRules(pool.spec);
  const { standby: begun = [] } = inProgress;
  const others = vms.filter(isStandby).length + pendingCreates;
  const missing = Math.max(replicas - others, comingBack(input, first, begun));
  if (missing <= 0) return [];
  const how = { missing, ownNames, first, begun: begun.length, failure: 'FailedStandby' } as const;
  const numbers = numbersToCreate(input, how);
  const names = formatNames(numbers.map((number) => vmName(pool.metadata.name, number)));
  const reason = `create ${names} as standby: ${missing} missing of ${replicas}`;
  return numbers.length === 0
    ? []
    : [{ kind: 'create', numbers, role: 'Standby', ...mostOf(others + missing, replicas), reason }];
}

const mostOf = (most: number, wanted: number): { most?: number } => (most > wanted ? { most } : {});

interface Missing {
  missing: number;
  /** Names that the pool has, or will have. */
  ownNames: ReadonlySet<string>;
  /** Names that are created before others. */
  first: readonly string[];
  /** How many are being created. */
  begun: number;
  failure: 'FailedCreate' | 'FailedStandby';
}

function numbersToCreate(input: ScaleInput, { missing, ownNames, first, begun, failure }: Missing): number[] {
  const { pool, isVmNameTaken, burst, lowest } = input;
  const count = Math.min(missing, allowanceOf(input, failure), burst - begun);
  if (count <= 0) return [];
  const { name } = pool.metadata;
  const refused = refusedOf(input, failure);
  const isTaken = (candidate: string): boolean => ownNames.has(candidate) || isVmNameTaken(candidate);
  // Refused VMs keep their numbers, and no other VM waits for them.
  const enough = refused?.isGeneral === true ? missing : Math.min(missing, count + (refused?.names.length ?? 0));
  const given = first.filter((candidate) => !isTaken(candidate)).slice(0, enough);
  const isGone = (candidate: string): boolean => given.includes(candidate) || isTaken(candidate);
  const others = freeNumbers(name, enough - given.length, isGone, lowest);
  const numbers = [...given.flatMap((candidate) => numberOf(name, candidate) ?? []), ...others];
  numbers.sort((a, b) => a - b);
  return refusedLast(numbers, (number) => vmName(name, number), refused).slice(0, count);
}
