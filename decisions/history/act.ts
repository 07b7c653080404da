import type { ActEndName } from './ends.ts';

/** Something that was done to VMs, or that a user asked for. `drover history -o json` prints it as it is. */
export interface Act {
  /** RFC 3339: when it began. */
  time: string;
  /** RFC 3339: when the last of its VMs was through with it; null while it is in progress. */
  endedAt: string | null;
  action: string;
  /**
   * Names; with their namespaces if a run acts on VMs of any owner, and then `pool namespace/name` is the template of
   * a pool. Empty if it was done to the pool or set as a whole.
   */
  vms: string[];
  /** Revisions, machine types, or numbers of VMs; null if not applicable or unknown. */
  from: string | null;
  to: string | null;
  /** `drover` for what it does on its own to keep a pool or set as its spec says; null if unknown. */
  requestedBy: string | null;
  end: ActEndName;
  /** Why it ended so, or the reason that a user gave. */
  message: string | null;
  /** Why it was done, as the Web UI shows it. */
  reason: string | null;
  /** Workflow id, for the details in the Web UI. */
  workflow: string;
}

/** An act that begins, now if it does not say when. */
export type BegunAct = Pick<Act, 'action' | 'vms'> &
  Partial<Pick<Act, 'time' | 'from' | 'to' | 'requestedBy' | 'reason' | 'workflow'>>;

export type ActEnd = Pick<Act, 'end'> & { message?: string | null | undefined };

/** Which acts in progress are meant: all that match the fields that are given. */
export interface OpenActs {
  workflow?: string;
  action?: string;
  vms?: readonly string[];
}

/** Recorded as asking for VMs to be created, removed and healed: no user asks for each of them. */
export const ITSELF = 'drover';

const MESSAGE_LENGTH = 300;

/** Acts that began within this time and ended in the same way are one act. */
const TOGETHER_MS = 60_000;
/** One act of more VMs would be too large to be kept. */
export const MOST_TOGETHER = 1_000;

/** The end of an act whose result is unknown. */
export const unknown = (message: string): ActEnd => ({ end: 'Unknown', message });

/** Returns the acts once these have ended; without `how`, they were not done, and are forgotten. */
export function endActs(
  acts: readonly Act[],
  { workflow, action, vms }: OpenActs,
  how: ActEnd | null,
  now: string,
): Act[] {
  const meant = vms === undefined ? null : new Set(vms);
  const ended: Act[] = [];
  const others = acts.flatMap((act) => {
    const isMeant =
      act.end === 'InProgress' && act.workflow === (workflow ?? act.workflow) && act.action === (action ?? act.action);
    const its = isMeant ? act.vms.filter((vm) => meant?.has(vm) ?? true) : [];
    if (its.length === 0) return [act];
    if (how !== null)
      ended.push({
        ...act,
        vms: its,
        endedAt: now,
        end: how.end,
        message: how.message?.slice(0, MESSAGE_LENGTH) ?? null,
      });
    const unended = act.vms.filter((vm) => !(meant?.has(vm) ?? true));
    return unended.length === 0 ? [] : [{ ...act, vms: unended }];
  });
  for (const act of ended) addTo(others, act);
  return others;
}

/** Adds an act that has ended to an act that differs only in its VMs, and a little in its times, or else by itself. */
export function addTo(acts: Act[], act: Act): void {
  const at = act.vms.length === 0 ? -1 : acts.findLastIndex((other) => isAlike(act, other) && !isOnSame(act, other));
  const other = acts[at];
  if (other === undefined) acts.push(act);
  else acts[at] = { ...other, vms: [...other.vms, ...act.vms], endedAt: act.endedAt };
}

const SAME = ['end', 'message', 'action', 'from', 'to', 'requestedBy', 'reason', 'workflow'] as const;

function isOnSame({ vms }: Act, other: Act): boolean {
  const its = new Set(vms);
  return other.vms.some((vm) => its.has(vm));
}

const isAlike = (act: Act, other: Act): boolean =>
  SAME.every((field) => act[field] === other[field]) &&
  other.vms.length < MOST_TOGETHER &&
  Math.abs(Date.parse(act.time) - Date.parse(other.time)) < TOGETHER_MS;

/** The most that the records of one workflow take, as JSON: Temporal takes at most 2 MiB at once. */
export const MOST_BYTES = 500_000;

/**
 * How many bytes the records of a pool or set with this many VMs may take: they stay in the memory of a worker, for
 * each of hundreds of pools, and go with each continue-as-new. Of 20 VMs these are about a hundred records.
 */
export const bytesOfOwner = (vms: number): number => Math.min(32_000 + 100 * vms, MOST_BYTES);

/** Returns the newest acts whose JSON takes no more than these bytes. */
export function newestActs(acts: readonly Act[], bytes: number): Act[] {
  let remaining = bytes;
  const dropped = acts.findLastIndex((act) => (remaining -= mostBytes(act)) < 0);
  return acts.slice(dropped + 1);
}

/** UTF-8 takes at most three bytes for each code unit. */
function mostBytes(act: Act): number {
  const json = JSON.stringify(act);
  return json.length + 1 + 2 * (json.match(/[^ -~]/g)?.length ?? 0);
}
