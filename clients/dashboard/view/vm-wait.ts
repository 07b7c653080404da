import { isPausedOnRequest } from '../../../decisions/disruption/pause.ts';
import { liveVmi } from '../../../decisions/health/availability.ts';
import type { MigrationInFlight } from '../../../decisions/views/migration.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { WHY_NO_VMI } from '../../owners/members.ts';
import type { VmState } from '../contract/fleet.ts';

export type Cycle = NonNullable<NonNullable<Pool['status']>['healing']>['cycles'][number];

/** What a VM that is not as its owner wants it waits for. Times are in milliseconds since the epoch. */
export interface VmWait {
  sentence: string;
  /** Null if nothing tells. */
  since: number | null;
  /** When it lasts longer than it should; null if that is not known. */
  lateAt: number | null;
}

/** A VM, or a VMI of a set of VMIs, and what is being done to it. */
interface Waiting {
  vm: VmView | null;
  vmi: VmiView | undefined;
  migration: MigrationInFlight | undefined;
  /** Its pool replaces it. */
  cycle: Cycle | null;
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

interface Found {
  what: string;
  since: number | null;
  /** How much longer it may last, in milliseconds. */
  moreMs?: number;
}

/** Returns null for a VM that is as its owner wants it. */
export function waitOf(state: VmState, waiting: Waiting): VmWait | null {
  const mayLastMs = MAY_LAST_MS[state];
  if (mayLastMs === undefined || (state === 'P' && isPausedOnRequest(waiting.vmi))) return null;
  const { what, since, moreMs = 0 } = foundOf(state, waiting);
  // That something else than a user has paused a guest is a fault, since whenever.
  const from = state === 'P' ? (since ?? 0) : since;
  return { sentence: what, since, lateAt: from === null ? null : from + mayLastMs + moreMs };
}

function foundOf(state: VmState, { vm, vmi, migration, cycle }: Waiting): Found {
  if (state === 'M') return moving(migration);
  if (state === 'H') return healed(cycle);
  if (state === 'T') return leaving(vm, vmi);
  const what = state === 'P' ? 'something else than a user has paused its guest' : coming(vm, vmi);
  const message = vm?.failure ?? vmi?.whyNotReady ?? null;
  return {
    what: message === null ? what : `${what}: ${message}`,
    since: notReadySince(vm, vmi),
    moreMs: vmi?.deleting === true ? vmi.graceMs : 0,
  };
}

function moving(migration: MigrationInFlight | undefined): Found {
  const quota = migration?.overQuota === true ? ', and a ResourceQuota refuses its pod' : '';
  return { what: `migration ${migration?.name} is ${migration?.phase}${quota}`, since: migration?.createdAt ?? null };
}

const healed = (cycle: Cycle | null): Found => ({
  what: `replacement ${cycle?.attempt}, ${cycle?.phase}: ${cycle?.message}`,
  since: cycle === null ? null : Date.parse(cycle.startedAt),
});

function leaving(vm: VmView | null, vmi: VmiView | undefined): Found {
  const blockedBy = vm?.blockedBy ?? vmi?.blockedBy ?? null;
  const what = vmi === undefined ? 'its object is still there' : (whyLost(vmi) ?? 'the guest is shutting down');
  return {
    what: blockedBy === null ? what : `held by the finalizer ${blockedBy}`,
    since: vm?.leavingSince ?? vmi?.deletingSince ?? null,
    moreMs: vmi?.graceMs ?? 0,
  };
}

function notReadySince(vm: VmView | null, vmi: VmiView | undefined): number | null {
  if (isUp(vmi)) return null;
  const since = vm?.notReadySince ?? (vmi?.ready === false ? vmi.readySince : null);
  // Its VMI has begun to stop, and KubeVirt has not said yet that the VM is not ready.
  return since ?? (vm?.ready === true ? (vmi?.deletingSince ?? null) : ((vm ?? vmi)?.createdAt ?? null));
}

const isUp = (vmi: VmiView | undefined): boolean => vmi?.ready === true && !vmi.deleting;

/** KubeVirt's phases of a VMI, with what comes next in each. */
const NEXT: Record<string, string> = {
  '': 'KubeVirt has not looked at its VMI yet',
  Pending: 'its VMI has no pod yet',
  Scheduling: 'its pod does not run yet',
  Scheduled: 'its pod runs, and KubeVirt has not started its guest yet',
  Running: 'its guest runs, and is not ready',
};

const whyLost = (vmi: VmiView | undefined): string | null =>
  vmi?.nodeLost === true ? `its node ${vmi.node} does not answer` : null;

function coming(vm: VmView | null, vmi: VmiView | undefined): string {
  const lost = whyLost(vmi);
  if (lost !== null) return lost;
  if (isUp(vmi)) return 'KubeVirt was asked to restart it';
  if (vmi?.deleting === true) return 'the guest is shutting down';
  const live = liveVmi(vmi);
  if (live !== undefined) {
    const next = NEXT[live.phase] ?? 'its VMI does not run';
    const where = live.node === null ? '' : ` on ${live.node}`;
    return `${next} (${live.phase || 'no phase'}${where})`;
  }
  const failures = vm?.startFailures ?? 0;
  if (failures > 0) return failures === 1 ? 'its last start failed' : `its last ${failures} starts failed`;
  const what = WHY_NO_VMI[vm?.state ?? ''] ?? 'KubeVirt has not created its VMI yet';
  return vm === null || vm.state === '' ? what : `${what} (${vm.state})`;
}
