import type { DisruptedVm } from '../../api/pool/pool.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import {
  isMeantToRun,
  isReady,
  isRestarting,
  isStaying,
  liveVmi,
  maxUnavailableOf,
  unavailability,
  type VmiOf,
} from './availability.ts';

/**
 * After so long a claim says nothing any more: its VM counts by itself, or nobody has acted on it. Much longer than its
 * holder may act on it, and than a cache may lag behind.
 */
export const CLAIM_MS = 60_000;
/** A holder acts on its claim within that time, or claims the place anew. */
export const ACT_WITHIN_MS = 10_000;
/** In one pool's status at most. */
const MOST_CLAIMS = 1_000;

/** Some pool and its VMs, not older than the claims in its status. */
export interface ClaimScene {
  pool: StoredPool;
  /** All VMs that the pool owns. */
  vms: readonly VmView[];
  vmiOf: VmiOf;
}

/** What became of a claimed place. */
export type ClaimState =
  /** The VM is down by it, and counts by itself. */
  | 'used'
  /** Its guest is there as it was: it goes down yet, or never. */
  | 'unused'
  /** The VM is back, or nobody misses it. */
  | 'over';

/** Claims that say something in this picture, with what they say; those of `isExpired` have had their time. */
export function standingClaims(
  scene: ClaimScene,
  isExpired: (claim: DisruptedVm) => boolean,
): { claim: DisruptedVm; state: 'used' | 'unused' }[] {
  const claims = scene.pool.status?.disruptedVMs ?? [];
  if (claims.length === 0) return [];
  const staying = new Map(scene.vms.filter(isStaying).map((vm) => [vm.name, vm]));
  return claims.flatMap((claim) => {
    const state = stateOf(claim, staying, scene);
    return state === 'over' || isExpired(claim) ? [] : [{ claim, state }];
  });
}

function stateOf(claim: DisruptedVm, staying: ReadonlyMap<string, VmView>, { pool, vmiOf }: ClaimScene): ClaimState {
  const vm = staying.get(claim.vm);
  if (vm === undefined) return staying.size < pool.spec.replicas ? 'used' : 'over';
  const vmi = vmiOf(vm);
  const guest = liveVmi(vmi);
  if (!isMeantToRun(vm, vmi) && guest === undefined) return 'over';
  if (guest === undefined || vm.changingState) return 'used';
  if (guest.uid === claim.vmi) return 'unused';
  return isReady(vm, guest) ? 'over' : 'used';
}

/**
 * Names of VMs whose places are claimed; by the time that the claims say, for who only looks and need not trust the
 * clocks of others.
 */
export const claimedNames = (scene: ClaimScene, now: number): string[] =>
  standingClaims(scene, (claim) => expiredBy(now)(claim) || isFromTheFuture(claim, now)).map(({ claim }) => claim.vm);

const expiredBy =
  (now: number) =>
  ({ at }: DisruptedVm): boolean =>
    !(Date.parse(at) + CLAIM_MS > now);

/**
 * A claim from the future is of a clock that is wrong: it would else hold a place for as long as that clock is ahead.
 */
const isFromTheFuture = ({ at }: DisruptedVm, now: number): boolean => Date.parse(at) >= now + CLAIM_MS;

/** True where all claims that the status tells of have had their time: it need not tell of them any more. */
export const hasSpentClaimsAlone = (scene: ClaimScene, now: number): boolean =>
  (scene.pool.status?.disruptedVMs ?? []).length > 0 && standingClaims(scene, expiredBy(now)).length === 0;

/** A VM that somebody wants to disrupt, as it is in this moment. */
export interface Ask {
  vm: VmView;
  vmi: VmiView | undefined;
  /** Id of the workflow that asks. */
  by: string;
}

export interface Claimed {
  /** What the pool's status must say: those that stand, and those that are granted. */
  claims: DisruptedVm[];
  /** Null for an ask that is granted; else why it is not. */
  answers: (string | null)[];
}

/** Who may disrupt a VM now, in the order of asking: never so many that more than `maxUnavailable` are down. */
export function claimPlaces(
  scene: ClaimScene,
  standing: readonly DisruptedVm[],
  asks: readonly Ask[],
  at: string,
): Claimed {
  const { pool } = scene;
  const asked = new Map(asks.map((ask) => [ask.vm.name, ask]));
  const vms = scene.vms.filter(isStaying).map((vm) => asked.get(vm.name)?.vm ?? vm);
  const vmiOf: VmiOf = (vm) => (asked.has(vm.name) ? asked.get(vm.name)!.vmi : scene.vmiOf(vm));
  const claims = new Map(standing.map((claim) => [claim.vm, claim]));
  const restarting = vms.filter((vm) => isRestarting(vm, vmiOf(vm))).map(({ name }) => name);
  const { names, count } = unavailability({ pool, vms, vmiOf, inHand: [...claims.keys(), ...restarting] });
  const most = maxUnavailableOf(pool);
  let used = count;
  const answers = asks.map((ask): string | null => {
    const { name } = ask.vm;
    const held = claims.get(name);
    const guest = liveVmi(ask.vmi);
    if (held !== undefined && held.by !== ask.by && guest?.uid === held.vmi && guest?.ready === true)
      return `${held.by} is about to disrupt it`;
    // A place that it holds already is no leave to act: others may have failed since it was claimed.
    const hasRoom = isMissed(ask) || (names.has(name) ? used <= most : used < most);
    if (!hasRoom) return `${most} of pool ${pool.metadata.namespace}/${pool.metadata.name} at a time`;
    if (held === undefined && claims.size >= MOST_CLAIMS) return `${MOST_CLAIMS} are being disrupted already`;
    if (!names.has(name)) used++;
    names.add(name);
    claims.set(name, claimOf(ask, guest, at));
    return null;
  });
  return { claims: [...claims.values()], answers };
}

/**
 * Whether its service is missed already. The VMI alone tells: the VM's own status may not say yet that its guest is
 * ready.
 */
const isMissed = ({ vm, vmi }: Ask): boolean => isMeantToRun(vm, vmi) && liveVmi(vmi)?.ready !== true;

const claimOf = ({ vm, vmi, by }: Ask, guest: VmiView | undefined, at: string): DisruptedVm => ({
  vm: vm.name,
  ...(guest === undefined ? {} : { vmi: guest.uid }),
  by,
  at,
  seen: { vms: vm.resourceVersion, ...(vmi === undefined ? {} : { vmis: vmi.resourceVersion }) },
});
