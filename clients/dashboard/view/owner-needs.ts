import type { Stored } from '../../../api/objects.ts';
import { poolView } from '../../../decisions/from-object/owner.ts';
import { formatNames } from '../../../decisions/lib/names.ts';
import { poolNotices, setNotices, type Notice } from '../../../decisions/notices/notices.ts';
import type { StoredSet } from '../../../decisions/views/owner.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import type { Owner } from '../../cli/owner.ts';
import { BY_SPEC } from '../../pool/view.ts';
import type { VmState, VmWait } from '../../view/vm-wait.ts';
import type { Need, NeedKind, OwnerCard, Rollout } from '../contract/fleet.ts';
import { vmActions, type WhyNot } from './actions.ts';
import { needOf, draftsOf, unseen, UNSEEN_MS, type NeedDraft } from './need.ts';

/** A VM that waits for something. */
export interface WaitingVm extends VmWait {
  vm: string;
  state: VmState;
}

/** What is reported of rollouts, with how far they are. */
const OF_ROLLOUTS: ReadonlySet<NeedKind> = new Set(['rollout.waiting', 'rollout.halted', 'paused']);

interface Seen {
  /** Undefined for VMs of no owner. */
  owner: Stored<Owner> | undefined;
  pool: Stored<Pool> | null;
  waiting: readonly WaitingVm[];
  /** Since when no worker has looked at its spec, in milliseconds since the epoch; null if one has. */
  unseenSince: number | null;
  /** Why the user may not change the owner, whatever its state; null if they may. */
  mayNot: WhyNot;
  now: number;
}

export function ownerNeeds(card: OwnerCard, seen: Seen): Need[] {
  const { kind, namespace, name, rollout, isDeleting, actions } = card;
  const { owner, pool, waiting, unseenSince, mayNot, now } = seen;
  const notices = noticesOf(card, owner);
  const drafts = draftsOf(name, notices, now);
  const isFull = notices.some(({ type }) => type === 'budget.full');
  const namesStarts = notices.some(({ reason }) => reason === 'FailedStart');
  const all: NeedDraft[] = [
    ...drafts.flatMap((one) => (one.kind === 'rollout.waiting' ? atStep(one, rollout) : [one])),
    ...(isDeleting ? [] : pausedNeeds(card)),
    ...vmNeeds(
      card,
      namesStarts ? { ...seen, waiting: waiting.filter(({ cannotStart }) => !cannotStart) } : seen,
      isFull,
    ),
  ];
  if (unseenSince !== null && now - unseenSince >= UNSEEN_MS && !isDeleting)
    all.push(unseen(name, namespace, new Date(unseenSince).toISOString()));
  const done = rollout === null ? '' : `${rollout.updated}/${rollout.replicas} updated`;
  return all.map((one) =>
    needOf(
      card.id,
      { kind: kind ?? 'Namespace', namespace, name },
      { done: OF_ROLLOUTS.has(one.kind) ? done : '', ...one },
      ({ action, vm }) => {
        const its = vm === null || pool === null ? actions : vmActions(pool, vm, mayNot);
        return its.find((button) => button.name === action) ?? null;
      },
    ),
  );
}

function noticesOf({ kind, rollout }: OwnerCard, owner: Stored<Owner> | undefined): Notice[] {
  if (owner === undefined) return [];
  return rollout === null ? setNotices({ ...owner, kind } as StoredSet) : poolNotices(poolView(owner));
}

/** The step says it shorter than the status, which names the command as well; a pause comes before it. */
function atStep(one: NeedDraft, rollout: Rollout | null): NeedDraft[] {
  if (rollout === null || rollout.paused !== null) return [];
  const { steps } = rollout;
  const at = steps.findIndex(({ state }) => state === 'reached') + 1;
  const [what = ''] = one.sentence.split(': ', 1);
  return [{ ...one, sentence: at === 0 ? what : `${what} at step ${at} of ${steps.length}` }];
}

/** What users have paused continues only if a user says so: they are told nothing of what they did themselves. */
function pausedNeeds({ name, rollout, healing }: OwnerCard): NeedDraft[] {
  const paused = [
    { kind: 'paused', what: name, of: rollout?.paused, verb: 'rollout', action: 'rollout.resume' },
    {
      kind: 'healing.suspended',
      what: `the healing of ${name}`,
      of: healing?.paused,
      verb: 'heal',
      action: 'heal.resume',
    },
  ] as const;
  return paused.flatMap(({ kind, what, of, verb, action }): NeedDraft[] => {
    if (of == null) return [];
    const sentence = `${what} is paused by ${of.by}${of.reason === null ? '' : `: ${of.reason}`}`;
    const button = of.by === BY_SPEC ? null : action;
    return [{ kind, sentence, since: of.at, command: `drover ${verb} resume pool ${name}`, action: button }];
  });
}

/** The sentences about VMs in each state that should pass, for one VM and for several. */
const LASTS: Partial<Record<VmState, [one: string, several: string]>> = {
  S: ['has not come up', 'have not come up'],
  U: ['has not come back', 'have not come back'],
  M: ['has not moved', 'have not moved'],
  H: ['is not healed', 'are not healed'],
  T: ['has not gone', 'have not gone'],
  D: ['is down', 'are down'],
  F: ['fails', 'fail'],
  P: ['is paused', 'are paused'],
};

/** VMs that fail and that nothing is to replace, and VMs in a state for longer than that should last. */
function vmNeeds(card: OwnerCard, { pool, waiting, now }: Seen, isFull: boolean): NeedDraft[] {
  const { healing, rollout } = card;
  const isPaused = healing !== null && (healing.paused ?? healing.suspended) !== null;
  const notReplaced = pool?.status?.healing?.notReplaced ?? [];
  const isNotReplaced = (vm: string): boolean =>
    healing === null || notReplaced.some((one) => one.vm === vm && one.waitsFor === undefined);
  const told = [...(healing?.givenUp ?? []), ...(rollout?.halted == null ? [] : rollout.failures)];
  // Of these, that they were given up, that they have ended the rollout, or that healing stands still, is told.
  const others = waiting.filter(
    ({ vm, state }) => !told.some((one) => one.vm === vm) && !(isPaused && (state === 'F' || state === 'H')),
  );
  const failing = others.filter(({ vm, state }) => state === 'F' && isNotReplaced(vm));
  const late = others.filter((one) => !failing.includes(one) && one.lateAt !== null && one.lateAt <= now);
  return [
    ...vmDrafts(card, failing, { kind: 'vms-failing', isFull }),
    ...[...Map.groupBy(late, ({ state }) => state).values()].flatMap((vms) =>
      vmDrafts(card, vms, { kind: 'late', isFull }),
    ),
  ];
}

/** As many names are put together: of ten thousand VMs that are down at once, sorting them all takes too long. */
const NAMED = 200;

/** Names VMs in the same state, and what the one that has been in it longest waits for. */
function vmDrafts(
  { id, name }: OwnerCard,
  vms: readonly WaitingVm[],
  { kind, isFull }: { kind: 'vms-failing' | 'late'; isFull: boolean },
): NeedDraft[] {
  if (vms.length === 0) return [];
  const longest = (a: WaitingVm, b: WaitingVm): WaitingVm => ((b.since ?? Infinity) < (a.since ?? Infinity) ? b : a);
  const { vm, state, since, sentence } = vms.reduce(longest);
  const [one, several] = LASTS[state]!;
  const isOne = vms.length === 1;
  const of = name === '' ? '' : ` of ${name}`;
  const who = isOne ? `VM ${vm}${of} ${one}` : `${vms.length} VMs${of} ${several}`;
  const more = vms.length > NAMED ? ', …' : '';
  const names = isOne ? '' : ` (${formatNames(vms.slice(0, NAMED).map((each) => each.vm))}${more})`;
  // The VMs of a migration are up.
  const waits = isFull && state !== 'M' ? `; ${name} waits for its disruption budget meanwhile` : '';
  const described = isOne ? `vm ${vm}` : 'vms';
  return [
    {
      kind,
      sentence: `${who}${names}${sentence === '' ? '' : `: ${sentence}`}${waits}`,
      since: since === null ? null : new Date(since).toISOString(),
      command: name === '' ? `kubectl describe ${described}` : `drover status ${id.split('/')[0]} ${name}`,
      vm: isOne ? vm : null,
      which: state,
      action: isOne && state === 'H' ? 'heal.now' : null,
    },
  ];
}
