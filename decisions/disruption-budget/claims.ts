import type { DisruptedVm } from '../../api/pool/pool.ts';
import { isActive, isDown, isMeantToRun, liveVmi, type VmiOf } from '../health/availability.ts';
import { later, type ResourceVersions } from '../lib/resource-versions.ts';
import type { StoredPool } from '../views/pool.ts';
import { isRegular, isSurge, type VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';

/**
 * A claim expires after this time: by then its VM counts by itself, or the claim was never used. Much longer than the
 * holder may act on its claim, and than a cache may lag behind.
 */
export const CLAIM_MS = 60_000;
/** A holder acts on its claim within this time, or claims again. */
export const ACT_WITHIN_MS = 10_000;
/** How often to look again while others have claimed the budget: no event of the pool tells if they give it back. */
export const CLAIMS_AGAIN_MS = 2_000;
/** A pool and its VMs, at least as new as the claims in the pool's status. */
export interface ClaimContext {
  pool: StoredPool;
  /** All VMs that the pool owns. */
  vms: readonly VmView[];
  vmiOf: VmiOf;
}

/** What became of a claim. */
type ClaimState =
  /** The VM is down, and counts by itself in every cache that is as new as this one: the claim is needed no more. */
  | 'down'
  /** The VM was disrupted, and is not back. */
  | 'used'
  /** The VM's VMI is unchanged: it will still go down, or never will. */
  | 'unused'
  /** The VM is back, or no longer needed. */
  | 'over';

/**
 * Returns the claims that still count in this context, with their states, but none for which `isExpired`. A VM that is
 * only ready to become one of the pool's replicas costs no budget.
 */
export function activeClaims(
  context: ClaimContext,
  isExpired: (claim: DisruptedVm) => boolean,
): { claim: DisruptedVm; state: Exclude<ClaimState, 'over'> }[] {
  const claims = context.pool.status?.disruptedVMs ?? [];
  if (claims.length === 0) return [];
  const active = new Map(context.vms.filter((vm) => isServing(vm) && isActive(vm)).map((vm) => [vm.name, vm]));
  const others = new Set(context.vms.filter((vm) => !isServing(vm)).map(({ name }) => name));
  const missing = context.pool.spec.replicas - [...active.values()].filter(isRegular).length;
  return claims.flatMap((claim) => {
    const state = others.has(claim.vm) ? 'over' : stateOf(claim, active.get(claim.vm), context.vmiOf, missing > 0);
    return state === 'over' || isExpired(claim) ? [] : [{ claim, state }];
  });
}

const isServing = (vm: VmView): boolean => isRegular(vm) || isSurge(vm);

function stateOf(claim: DisruptedVm, vm: VmView | undefined, vmiOf: VmiOf, areMissing: boolean): ClaimState {
  if (vm === undefined) return areMissing ? 'used' : 'over';
  const vmi = vmiOf(vm);
  const live = liveVmi(vmi);
  if (!isMeantToRun(vm, vmi) && live === undefined) return 'over';
  if (live !== undefined && live.uid === claim.vmi && !vm.changingState)
    return claim.migration === undefined ? 'unused' : stateOfMigration(claim.migration, live);
  if (isDown(vm, vmi)) return 'down';
  return live === undefined || vm.changingState ? 'used' : 'over';
}

/**
 * What became of a claim by which a migration was to be created: that moves the same VMI, and may leave it as it is.
 */
export function stateOfMigration(attempt: number, { evacuation }: VmiView): Exclude<ClaimState, 'down'> {
  if (evacuation === null || evacuation.attempt < attempt) return 'unused';
  return evacuation.attempt === attempt && evacuation.state === 'Unfinished' ? 'used' : 'over';
}

/**
 * Returns the names of VMs with claims, judged by the claims' own times: for callers that only read, and need not guard
 * against other machines' clocks.
 */
export const claimedNames = (context: ClaimContext, now: number): string[] =>
  activeClaims(context, (claim) => expiredBy(now)(claim) || isFromTheFuture(claim, now)).map(({ claim }) => claim.vm);

const expiredBy =
  (now: number) =>
  ({ at }: DisruptedVm): boolean =>
    !(Date.parse(at) + CLAIM_MS > now);

/** A claim from the future comes from a wrong clock: it would otherwise count for as long as that clock is ahead. */
const isFromTheFuture = ({ at }: DisruptedVm, now: number): boolean => Date.parse(at) >= now + CLAIM_MS;

/** Reports whether the status lists claims and all of them are spent: it no longer needs to list them. */
export const hasOnlyReleasedClaims = (context: ClaimContext, now: number): boolean =>
  (context.pool.status?.disruptedVMs ?? []).length > 0 && activeClaims(context, expiredBy(now)).length === 0;

/** How far the clock of the worker that writes a status may be behind that of the worker that has planned it. */
const CLOCK_SKEW_MS = 5_000;

/**
 * When the last claim in the status has expired by every worker's clock: no event may report a claim that was never
 * used.
 */
export function claimsRequeue(context: ClaimContext, now: number): { requeueAt: number | null } {
  const last = CLAIM_MS + CLOCK_SKEW_MS;
  const ends = activeClaims(context, expiredBy(now - CLOCK_SKEW_MS)).map(({ claim }) => Date.parse(claim.at) + last);
  return { requeueAt: ends.length === 0 ? null : Math.max(...ends) };
}

/** Returns the versions that a `ClaimContext` of these claims must have reached. */
export const claimVersions = (claims: readonly DisruptedVm[]): ResourceVersions =>
  claims.reduce<ResourceVersions>(
    ({ vms, vmis }, { minVersions: own }) => ({ vms: later(vms, own?.vms), vmis: later(vmis, own?.vmis) }),
    {},
  );
