import { isPausedOnRequest } from '../../decisions/disruption/pause.ts';
import { liveVmi } from '../../decisions/health/availability.ts';
import { whyNotStarting } from '../../decisions/health/excused.ts';
import type { MigrationInFlight } from '../../decisions/views/migration.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';

/**
 * State of a VM in one letter, for a glyph and a colour: `R` ready, `S` starting or coming back, `M` migrating, `U`
 * restarting for its rollout, `H` being healed, `D` down although it should run, `F` failing, `P` paused, `O` stopped
 * as its owner wants it, `T` terminating, `Y` standby and as it should be.
 */
export type VmState = 'R' | 'S' | 'M' | 'U' | 'H' | 'D' | 'F' | 'P' | 'O' | 'T' | 'Y';

export type Cycle = NonNullable<NonNullable<Pool['status']>['healing']>['cycles'][number];

/** What a VM that is not as its owner wants it waits for. Times are in milliseconds since the epoch. */
export interface VmWait {
  /** Empty if nothing says. */
  sentence: string;
  /** Null if unknown. */
  since: number | null;
  /** When it lasts longer than it should; null if that is not known. */
  lateAt: number | null;
  /** KubeVirt says why it can't start, as the condition of its owner then does. */
  cannotStart: boolean;
}

/** A VM, or a VMI of a set of VMIs, and what is being done to it. */
export interface Waiting {
  vm: VmView | null;
  /** Null if it was not read. */
  vmi: VmiView | undefined | null;
  migration?: MigrationInFlight | undefined;
  /** Its pool replaces it. */
  cycle?: Cycle | null;
  /** KubeVirt's own words for why it is not ready, if its views don't have them. */
  said?: string | null;
  /** When KubeVirt next tries to start it, if that is known; RFC 3339. */
  retryAt?: string | null | undefined;
}

const MINUTE = 60_000;
/** How long each state may last that should pass, in milliseconds. A budget or a quota may hold a migration up. */
const MAY_LAST_MS: Partial<Record<VmState, number>> = {
  S: 5 * MINUTE,
  U: 10 * MINUTE,
  M: 30 * MINUTE,
  H: 10 * MINUTE,
  T: 5 * MINUTE,
  D: 5 * MINUTE,
  F: 5 * MINUTE,
  P: 0,
};

/** `moreMs`: how much longer it may last, in milliseconds. */
type Found = Pick<VmWait, 'sentence' | 'since'> & { moreMs?: number };

/** Returns null for a VM that is as its owner wants it. */
export function waitOf(state: VmState, waiting: Waiting): VmWait | null {
  const mayLastMs = MAY_LAST_MS[state];
  if (mayLastMs === undefined || (state === 'P' && isPausedOnRequest(waiting.vmi ?? undefined))) return null;
  const { sentence, since, moreMs = 0 } = foundOf(state, waiting);
  // That something else than a user has paused a guest is a fault, since whenever.
  const from = state === 'P' ? (since ?? 0) : since;
  const { vm, vmi } = waiting;
  const cannotStart = vm !== null && vmi !== null && whyNotStarting(vm, vmi) !== null;
  return { sentence, since, lateAt: from === null ? null : from + mayLastMs + moreMs, cannotStart };
}

function foundOf(state: VmState, waiting: Waiting): Found {
  const { vm, vmi, migration, cycle = null } = waiting;
  if (state === 'M') return moving(migration);
  if (state === 'H') return healed(cycle);
  if (state === 'T') return leaving(vm, vmi);
  const what = state === 'P' ? 'something else than a user has paused its guest' : coming(waiting);
  return {
    sentence: [what, waiting.said ?? vm?.failure ?? vmi?.whyNotReady].filter(Boolean).join(': '),
    since: notReadySince(vm, vmi),
    moreMs: vmi?.deleting === true ? vmi.graceMs : 0,
  };
}

function moving(migration: MigrationInFlight | undefined): Found {
  const quota = migration?.overQuota === true ? ', and a ResourceQuota refuses its pod' : '';
  return {
    sentence: `migration ${migration?.name} is ${migration?.phase}${quota}`,
    since: migration?.createdAt ?? null,
  };
}

const healed = (cycle: Cycle | null): Found => ({
  sentence: `replacement ${cycle?.attempt}, ${cycle?.phase}: ${cycle?.message}`,
  since: cycle === null ? null : Date.parse(cycle.startedAt),
});

function leaving(vm: VmView | null, vmi: Waiting['vmi']): Found {
  const blockedBy = vm?.blockedBy ?? vmi?.blockedBy ?? null;
  const isGone = vmi === undefined || (vmi === null && vm?.hasVmi === false);
  const what = isGone ? 'its object is still there' : (whyLost(vmi) ?? 'the guest is shutting down');
  return {
    sentence: blockedBy === null ? what : `held by the finalizer ${blockedBy}`,
    since: vm?.leavingSince ?? vmi?.deletingSince ?? null,
    moreMs: vmi?.graceMs ?? 0,
  };
}

function notReadySince(vm: VmView | null, vmi: Waiting['vmi']): number | null {
  if (isUp(vmi)) return null;
  const since = vm?.notReadySince ?? (vmi?.ready === false ? vmi.readySince : null);
  // Its VMI has begun to stop, and KubeVirt has not said yet that the VM is not ready.
  return since ?? (vm?.ready === true ? (vmi?.deletingSince ?? null) : ((vm ?? vmi)?.createdAt ?? null));
}

const isUp = (vmi: Waiting['vmi']): boolean => vmi?.ready === true && !vmi.deleting;

/** KubeVirt's phases of a VMI, with what comes next in each. */
export const NEXT: Readonly<Partial<Record<string, string>>> = {
  '': 'KubeVirt has not looked at its VMI yet',
  Pending: 'its VMI has no pod yet',
  Scheduling: 'its pod does not run yet',
  Scheduled: 'its pod runs, and KubeVirt has not started its guest yet',
  Running: 'its guest runs, and is not ready',
};

/** What a VM waits for that has no VMI, by KubeVirt's word for its state. */
const WITHOUT_VMI: Partial<Record<string, string>> = {
  Provisioning: 'its disks are being made or filled',
  WaitingForVolumeBinding: 'its claims are not bound yet',
  DataVolumeError: 'a DataVolume of it has failed',
};

export const whyLost = (vmi: Waiting['vmi']): string | null =>
  vmi?.nodeLost === true ? `its node ${vmi.node} does not answer` : null;

function coming({ vm, vmi, retryAt = null }: Waiting): string {
  const lost = whyLost(vmi);
  if (lost !== null) return lost;
  if (isUp(vmi)) return 'KubeVirt was asked to restart it';
  if (vmi?.deleting === true) return 'the guest is shutting down';
  const live = liveVmi(vmi ?? undefined);
  if (live === undefined) return withoutVmi(vm, vmi === null, retryAt);
  const next = NEXT[live.phase] ?? 'its VMI does not run';
  const where = live.node === null ? '' : ` on ${live.node}`;
  return `${next} (${live.phase || 'no phase'}${where})`;
}

/** `mayHaveOne`: its VMI was not read. */
function withoutVmi(vm: VmView | null, mayHaveOne: boolean, retryAt: string | null): string {
  const { state = '', startFailures = 0 } = vm ?? {};
  if (startFailures > 0) {
    const next = retryAt === null ? '' : `, the next at ${retryAt}`;
    return `${startFailures} failed start${startFailures === 1 ? '' : 's'}${next}`;
  }
  const what = WITHOUT_VMI[state];
  if (mayHaveOne) return what ?? '';
  return `${what ?? 'KubeVirt has not created its VMI yet'}${state === '' ? '' : ` (${state})`}`;
}
