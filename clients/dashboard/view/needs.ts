import type { NoticeType } from '../../../api/notifications/types.ts';
import type { Stored } from '../../../api/objects.ts';
import { formatNames } from '../../../decisions/lib/names.ts';
import {
  dueAt,
  operationNotices,
  poolNotices,
  setNotices,
  type Notice,
} from '../../../decisions/notifications/notices.ts';
import { KEEP_MS } from '../../../decisions/notifications/outbox.ts';
import { poolView } from '../../../decisions/views/from-object/owner.ts';
import type { StoredSet } from '../../../decisions/views/owner.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import type { Owner } from '../../cli/owner.ts';
import { isOver } from '../../operations/print-operations.ts';
import { BY_SPEC } from '../../rollout/view.ts';
import type { ActionName, Need, NeedKind, OperationCard, OwnerCard, Rollout, ScheduleCard } from '../contract/fleet.ts';

/** How long an object may wait for a worker before somebody should look, in milliseconds. */
export const UNSEEN_MS = 30_000;

type Told = Pick<Need, 'kind' | 'sentence' | 'since' | 'command'> & {
  tone?: Need['tone'];
  vm?: string | null;
  action?: ActionName | null;
};

interface OnPage {
  kind: NeedKind;
  /** What is so, of the object with this name; what the status says of it follows. */
  what: (name: string) => string;
  tone?: Need['tone'];
  action?: ActionName;
}

/**
 * What notifications tell of, as the page shows it: at once, but for a full budget, which is what most rollouts wait
 * for.
 */
const NOTICES: Partial<Record<NoticeType, OnPage>> = {
  'dev.drover.rollout.waiting': {
    kind: 'approval',
    what: (name) => `the rollout of ${name} waits for approval`,
    action: 'rollout.promote',
  },
  'dev.drover.rollout.halted': {
    kind: 'halted',
    what: (name) => `the rollout of ${name} has halted`,
    action: 'rollout.undo',
  },
  'dev.drover.budget.full': {
    kind: 'budget-full',
    what: (name) => `${name} waits for its disruption budget`,
    tone: 'warn',
  },
  'dev.drover.vm.givenup': { kind: 'given-up', what: () => 'healing has given up', action: 'heal.now' },
  'dev.drover.healing.suspended': { kind: 'healing-suspended', what: (name) => `${name} heals no VM` },
  'dev.drover.drain.stuck': { kind: 'drain-stuck', what: (name) => `VMs of ${name} can't leave nodes` },
  'dev.drover.owner.stalled': { kind: 'stalled', what: (name) => `${name} does not continue` },
  'dev.drover.operation.failed': {
    kind: 'operation-failed',
    what: (name) => `operation ${name} has ended, and not all is done`,
  },
};

/** `isDue`: of a notice that is told after a while, whether that is over. */
function toldBy(notices: readonly Notice[], isDue: (notice: Notice) => boolean = () => true): Told[] {
  return notices.flatMap((notice): Told[] => {
    const { type, about, since, message, command } = notice;
    const shown = NOTICES[type];
    if (shown === undefined || (shown.kind === 'budget-full' && !isDue(notice))) return [];
    const { kind, what, tone = 'bad', action = null } = shown;
    const sentence = [what(about.name), message].filter((words) => words !== '').join(': ');
    return [{ kind, tone, action, sentence, since, command, vm: about.vm ?? null }];
  });
}

interface Seen {
  /** Its VMs that fail, with since when each has not been ready; null if unknown. */
  failing: readonly { vm: string; since: string | null }[];
  /** Since when no worker has looked at its spec, in milliseconds since the epoch; null if one has. */
  unseenSince: number | null;
  now: number;
}

export function ownerNeeds(owner: Stored<Owner>, card: OwnerCard, { failing, unseenSince, now }: Seen): Need[] {
  const { kind, namespace, name, rollout, isDeleting } = card;
  const about = { kind: kind!, namespace, name };
  const word = card.id.split('/')[0]!;
  const notices = rollout === null ? setNotices({ ...owner, kind } as StoredSet) : poolNotices(poolView(owner));
  const told = toldBy(notices, (notice) => rollout?.end === 'Blocked' || dueAt(notice) <= now);
  const all: Told[] = [
    ...told.flatMap((one) => (one.kind === 'approval' ? atStep(one, rollout) : [one])),
    ...(isDeleting ? [] : [...pausedNeeds(card), ...conditionNeeds(owner, card, word)]),
    ...failingNeeds(owner, card, failing, word),
  ];
  if (unseenSince !== null && now - unseenSince >= UNSEEN_MS && !isDeleting)
    all.push({
      kind: 'no-worker',
      tone: 'bad',
      sentence: `no worker has looked at ${name}: is one running that serves ${namespace}?`,
      since: new Date(unseenSince).toISOString(),
      command: 'drover doctor',
    });
  return all.map((one) => needOf(card.id, about, one));
}

/** The step says it shorter than the status, which names the command as well; a pause comes before it. */
function atStep(one: Told, rollout: Rollout | null): Told[] {
  if (rollout === null || rollout.paused !== null) return [];
  const { steps } = rollout;
  const at = steps.findIndex(({ state }) => state === 'reached') + 1;
  const [what = ''] = one.sentence.split(': ', 1);
  return [{ ...one, sentence: at === 0 ? what : `${what} at step ${at} of ${steps.length}` }];
}

/** `command`: with the namespace, if it is one of a notice. */
function needOf(
  id: string,
  about: Need['about'],
  { tone = 'warn', vm = null, action = null, command, ...rest }: Told,
): Need {
  const isWhole = about.namespace === null || command === 'drover doctor' || command.includes(' -n ');
  return {
    id: [id, rest.kind, ...(vm === null ? [] : [vm])].join('#'),
    tone,
    about,
    vm,
    action,
    command: `${command}${isWhole ? '' : ` -n ${about.namespace}`}`,
    ...rest,
  };
}

/** What users have paused goes on only if a user says so: they are told nothing of what they did themselves. */
function pausedNeeds({ name, rollout, healing }: OwnerCard): Told[] {
  const held = [
    { kind: 'paused', what: name, of: rollout?.paused, verb: 'rollout', action: 'rollout.resume' },
    {
      kind: 'healing-suspended',
      what: `the healing of ${name}`,
      of: healing?.paused,
      verb: 'heal',
      action: 'heal.resume',
    },
  ] as const;
  return held.flatMap(({ kind, what, of, verb, action }): Told[] => {
    if (of == null) return [];
    const sentence = `${what} is paused by ${of.by}${of.why === null ? '' : `: ${of.why}`}`;
    const button = of.by === BY_SPEC ? null : action;
    return [{ kind, sentence, since: of.at, command: `drover ${verb} resume pool ${name}`, action: button }];
  });
}

const conditionOf = ({ status }: Owner, type: string) => status?.conditions?.find((one) => one.type === type);

/** VMs that fail, and that healing, if the pool has any, is not to replace. */
function failingNeeds(owner: Stored<Owner>, card: OwnerCard, failing: Seen['failing'], word: string): Told[] {
  const { name, healing } = card;
  if (healing !== null && (healing.paused ?? healing.suspended) !== null) return [];
  const notReplaced = (owner as Stored<Pool>).status?.healing?.notReplaced ?? [];
  const isLeft = (vm: string): boolean =>
    healing === null || notReplaced.some((one) => one.vm === vm && one.waitsFor === undefined);
  const left = failing.filter(({ vm }) => isLeft(vm) && !healing?.givenUp.some((one) => one.vm === vm));
  const [first] = left;
  if (first === undefined) return [];
  const of = left.length === 1 ? `VM ${first.vm} of ${name} fails` : `${left.length} VMs of ${name} fail`;
  const names = left.length === 1 ? '' : `: ${formatNames(left.map(({ vm }) => vm))}`;
  const [since = null] = left.flatMap((one) => one.since ?? []).toSorted();
  return [
    {
      kind: 'vms-failing',
      sentence: `${of}${names}`,
      since,
      command: `drover describe ${word} ${name}`,
      vm: left.length === 1 ? first.vm : null,
    },
  ];
}

const CONDITIONS = ['ReplicaFailure', 'Contended', 'Overlapping'];

/** Conditions that no notification tells of, which may pass. */
function conditionNeeds(owner: Stored<Owner>, { name }: OwnerCard, word: string): Told[] {
  const found = CONDITIONS.map((type) => conditionOf(owner, type)).find((one) => one?.status === 'True');
  if (found === undefined) return [];
  const { reason = '', message = '', lastTransitionTime = null } = found;
  const sentence = `${name}: ${[reason, message].filter(Boolean).join(': ')}`;
  return [
    { kind: 'stalled', tone: 'bad', sentence, since: lastTransitionTime, command: `drover describe ${word} ${name}` },
  ];
}

export function operationNeeds(operation: StoredOperation, card: OperationCard, now: number): Need[] {
  const { namespace, name } = card;
  const kind = namespace === null ? 'ClusterVirtualMachineOperation' : 'VirtualMachineOperation';
  const about = { kind, namespace, name };
  const failed = toldBy(operationNotices(operation));
  // It has ended: nothing tells that somebody has looked at it.
  const recent = failed.filter(({ since }) => now - Date.parse(since ?? '') < KEEP_MS);
  if (isOver(operation) || !card.isPaused) return recent.map((one) => needOf(card.id, about, one));
  const paused = operation.status?.conditions?.find(({ type, status }) => type === 'Paused' && status === 'True');
  const told: Told = {
    kind: 'operation-paused',
    sentence: `operation ${name} is paused`,
    since: paused?.lastTransitionTime ?? null,
    command: `drover operations resume ${namespace === null ? `cvmop/${name}` : name}`,
    action: 'operation.resume',
  };
  return [needOf(card.id, about, told)];
}

export function scheduleNeeds(schedule: StoredSchedule, { id, namespace, name, tone, sentence }: ScheduleCard): Need[] {
  if (tone !== 'bad') return [];
  const about = { kind: 'VirtualMachineOperationSchedule', namespace, name };
  const failed = schedule.status?.conditions?.find(({ status }) => status === 'False');
  const since = failed?.lastTransitionTime ?? null;
  const told = { kind: 'schedule-failed' as const, tone: 'warn' as const };
  return [
    needOf(id, about, {
      ...told,
      sentence: `schedule ${name}: ${sentence}`,
      since,
      command: `drover schedules describe ${name}`,
    }),
  ];
}

/** `before`: what was told of it: it lasts since then, if nothing tells of an earlier time. */
export const workersNeed = (
  { sentence, since }: { sentence: string; since: string | null },
  before: Need | undefined,
  now: number,
): Need => ({
  id: 'workers',
  kind: 'no-worker',
  tone: 'bad',
  sentence,
  since: since ?? before?.since ?? new Date(now).toISOString(),
  about: { kind: 'Worker', namespace: null, name: 'drover' },
  vm: null,
  command: 'drover doctor',
  action: null,
});

const TONES: Record<Need['tone'], number> = { bad: 0, warn: 1 };
/** Without a worker, no word helps; then what waits for a person's word. */
const FIRST: readonly NeedKind[] = ['no-worker', 'approval'];

const rankOf = ({ kind }: Need): number => (FIRST.indexOf(kind) + FIRST.length + 1) % (FIRST.length + 1);

/** What needs a person most first, then the oldest. */
export const byUrgency = (one: Need, other: Need): number =>
  TONES[one.tone] - TONES[other.tone] ||
  rankOf(one) - rankOf(other) ||
  (one.since ?? '').localeCompare(other.since ?? '') ||
  one.id.localeCompare(other.id);
