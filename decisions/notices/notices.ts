import { NOTICE_ACTION } from '../../api/labels-and-annotations.ts';
import { conditionOf } from '../../api/objects.ts';
import type { Condition } from '../../api/pool/status.ts';
import type { EventReason } from '../../api/reasons.ts';
import type { OwnerEvent } from '../owners/events.ts';
import type { StoredSet } from '../views/owner.ts';
import type { StoredPool } from '../views/pool.ts';
import type { StoredOperation } from '../views/stored-operation.ts';
import { FAILING, type Urgency } from './urgency.ts';

interface Wording {
  urgency: Exclude<Urgency, 'busy'>;
  /** What waits for a user, of the object with this name; the message of the notice follows. */
  says: (name: string) => string;
  /** The Event; without one if the activities that meet the state record it. */
  event?: EventReason;
}

/** What waits for a user, as the status of an object shows it. */
export const NOTICES = {
  'rollout.waiting': {
    urgency: 'bad',
    says: (name) => `the rollout of ${name} waits for approval`,
    event: 'WaitingForApproval',
  },
  'rollout.halted': { urgency: 'bad', says: (name) => `the rollout of ${name} has halted`, event: 'RolloutHalted' },
  'rollout.stuck': { urgency: 'bad', says: (name) => `the rollout of ${name} is stuck`, event: 'RolloutStuck' },
  'budget.full': { urgency: 'warn', says: (name) => `${name} waits for its disruption budget`, event: 'BudgetFull' },
  'vm.givenup': { urgency: 'bad', says: (name) => `healing of ${name}` },
  'healing.suspended': { urgency: 'bad', says: (name) => `${name} heals no VM` },
  'drain.stuck': { urgency: 'bad', says: (name) => `VMs of ${name} can't leave nodes`, event: 'DrainStuck' },
  'owner.stalled': { urgency: 'bad', says: (name) => `${name} does not continue`, event: 'Stalled' },
  'owner.failing': { urgency: 'bad', says: (name) => name },
  'operation.failed': { urgency: 'bad', says: (name) => `operation ${name} has ended, and not all is done` },
} as const satisfies Record<string, Wording>;

export type NoticeType = keyof typeof NOTICES;

/** Something that users are to know of, as the status of an object shows it. */
export interface Notice {
  type: NoticeType;
  /** The VM that it is about, if it is about one. */
  vm?: string;
  /** Tells it from others of its type and its object, such as the next step of a rollout. */
  which: string;
  /** Since when that is so, or when it happened; RFC 3339. */
  since: string;
  /** The reason of the condition that says it. */
  reason: string;
  /** The sentence that the status has for it. */
  message: string;
  /** The command that shows more, or answers it. */
  command: string;
}

/** Says the notice of the object with this name in a sentence. */
export const noticeSentence = ({ type, reason, message }: Notice, name: string): string =>
  [NOTICES[type].says(name), type === 'owner.failing' ? reason : '', message].filter(Boolean).join(': ');

/** Most rollouts wait for their budget: only one that has waited for an hour needs a person. */
const BUDGET_FULL_MS = 3_600_000;

/** Whether a person should know of it. `now`: milliseconds since the epoch. */
export const isDue = ({ type, since, reason }: Notice, now: number): boolean =>
  type !== 'budget.full' || reason === 'ProgressDeadlineExceeded' || Date.parse(since) + BUDGET_FULL_MS <= now;

type Owner = Pick<StoredPool | StoredSet, 'metadata'> & { status?: { conditions?: Condition[] } };

/** What rollouts that have halted are stalled for is told as that. */
const HALTED: ReadonlySet<string | undefined> = new Set(['Failed', 'Undoing', 'Undone', 'UndoFailed']);
const REPORTED_ELSEWHERE: ReadonlySet<string | undefined> = new Set([...HALTED, 'Aborted']);

const DEFAULT_SINCE = new Date(0).toISOString();

interface NoticeFields extends Pick<Notice, 'type' | 'command'> {
  which?: string;
  since?: string | undefined;
}

function noticeOf({ metadata }: Owner, fields: NoticeFields, condition: Condition): Notice {
  const { type, which = '', since, command } = fields;
  const { lastTransitionTime, reason = '', message = '' } = condition;
  return {
    type,
    which,
    since: since ?? lastTransitionTime ?? DEFAULT_SINCE,
    reason,
    message,
    command: `${command} -n ${metadata.namespace}`,
  };
}

export function poolNotices(pool: StoredPool): Notice[] {
  if (pool.metadata.deletionTimestamp !== undefined) return [];
  const command = `drover status pool ${pool.metadata.name}`;
  return [...rolloutNotices(pool), ...drainNotices(pool), ...healingNotices(pool), ...stalledNotices(pool, command)];
}

function rolloutNotices(pool: StoredPool): Notice[] {
  const { rollout, budgetFullSince } = pool.status ?? {};
  const [progressing, degraded] = [conditionOf(pool.status, 'Progressing'), conditionOf(pool.status, 'Degraded')];
  const notices: Notice[] = [];
  const command = `drover rollout status pool ${pool.metadata.name}`;
  if (progressing?.reason === 'WaitingForApproval') {
    // A rollout that was stopped at the step waits for something new.
    const since = later(rollout?.stepReachedAt, progressing.lastTransitionTime);
    const step = { which: `${rollout?.revision}/${rollout?.step}`, since };
    const promote = `drover rollout promote pool ${pool.metadata.name}`;
    notices.push(noticeOf(pool, { type: 'rollout.waiting', ...step, command: promote }, progressing));
  }
  if (degraded?.status === 'True' && HALTED.has(degraded.reason)) {
    // An undo that fails is worse than what it undoes.
    const which = `${rollout?.revision}${degraded.reason === 'UndoFailed' ? '/UndoFailed' : ''}`;
    const since = rollout?.halted?.at;
    notices.push(noticeOf(pool, { type: 'rollout.halted', which, since, command }, degraded));
  }
  if (progressing?.reason === 'Stuck') notices.push(noticeOf(pool, { type: 'rollout.stuck', command }, progressing));
  if (progressing !== undefined && budgetFullSince !== undefined) {
    const full = { which: 'rollout', since: budgetFullSince, command };
    notices.push(noticeOf(pool, { type: 'budget.full', ...full }, progressing));
  }
  return notices;
}

/** The later of two times, in RFC 3339, as far as they are known. */
const later = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && Date.parse(b) > Date.parse(a)) ? b : a;

function drainNotices(pool: StoredPool): Notice[] {
  const drain = conditionOf(pool.status, 'Draining');
  const since = pool.status?.draining?.[0]?.since;
  const command = `drover status pool ${pool.metadata.name}`;
  if (drain?.reason === 'WaitingForBudget')
    return [noticeOf(pool, { type: 'budget.full', which: 'drain', since, command }, drain)];
  if (drain?.reason !== 'Stuck') return [];
  return [noticeOf(pool, { type: 'drain.stuck', since, command }, drain)];
}

function healingNotices(pool: StoredPool): Notice[] {
  const { name } = pool.metadata;
  const suspended = conditionOf(pool.status, 'HealingSuspended');
  const notices = (pool.status?.healing?.finished ?? [])
    .filter(({ end }) => end === 'GivenUp')
    .map(({ vm, end, at, message }): Notice => {
      const condition = { type: 'Healing', status: 'False', reason: end, message: `${vm}: ${message}` } as const;
      const fields = { which: `${vm}/${at}`, since: at, command: `drover heal now pool ${name} ${vm}` };
      return { vm, ...noticeOf(pool, { type: 'vm.givenup', ...fields }, condition) };
    });
  if (suspended?.reason !== 'TooManyUnhealthy') return notices;
  const command = `drover heal status pool ${name}`;
  return [...notices, noticeOf(pool, { type: 'healing.suspended', command }, suspended)];
}

export const setNotices = (set: StoredSet): Notice[] =>
  set.metadata.deletionTimestamp === undefined
    ? stalledNotices(set, `drover status ${SET_NAMES[set.kind]} ${set.metadata.name}`)
    : [];

const SET_NAMES = { VirtualMachineReplicaSet: 'vmrs', VirtualMachineInstanceReplicaSet: 'dvmirs' } as const;

function stalledNotices(owner: Owner, command: string): Notice[] {
  const stalled = conditionOf(owner.status, 'Stalled');
  const isStalled = stalled?.status === 'True' && !REPORTED_ELSEWHERE.has(stalled.reason);
  const noticeOfType = (type: NoticeType, condition: Condition): Notice =>
    noticeOf(owner, { type, which: condition.reason ?? '', command }, condition);
  const failing = FAILING.flatMap((type) => conditionOf(owner.status, type) ?? []).filter(
    // What fails for too long is why the owner is stalled.
    ({ status, reason }) => status === 'True' && !(isStalled && stalled.reason === reason),
  );
  return [
    ...(isStalled ? [noticeOfType('owner.stalled', stalled)] : []),
    ...failing.map((condition) => noticeOfType('owner.failing', condition)),
  ];
}

/** Returns how an operation has failed, unless a user has ended it. */
export function operationNotices({ metadata, status }: StoredOperation): Notice[] {
  const end = status?.conditions?.find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  );
  if (end?.type !== 'Failed' || end.reason === 'Aborted' || status?.completionTime === undefined) return [];
  const { namespace, name } = metadata;
  return [
    {
      type: 'operation.failed',
      which: '',
      since: status.completionTime,
      reason: end.reason ?? '',
      message: end.message ?? '',
      command: `drover operations describe ${namespace === undefined ? `cvmop/${name}` : `${name} -n ${namespace}`}`,
    },
  ];
}

/**
 * Returns the Events about what a new status says that needs a person, and the one before did not. Refusals are
 * recorded by the activities that meet them; a start fails without any.
 */
export function noticeEvents(before: readonly Notice[], after: readonly Notice[], now: number): OwnerEvent[] {
  const keyOf = ({ type, which, reason }: Notice): string => `${type}/${which}/${type === 'budget.full' ? reason : ''}`;
  const known = new Set(before.map(keyOf));
  return after.flatMap((notice): OwnerEvent[] => {
    const { event }: Wording = NOTICES[notice.type];
    const reason = event ?? (notice.reason === 'FailedStart' ? notice.reason : undefined);
    if (reason === undefined || known.has(keyOf(notice)) || !isDue(notice, now)) return [];
    return [{ type: 'Warning', reason, action: NOTICE_ACTION, note: `${notice.message}: \`${notice.command}\`` }];
  });
}
