import { NOTICE_ACTION } from '../../api/labels-and-annotations.ts';
import { conditionOf } from '../../api/objects.ts';
import type { VmOwnerKind } from '../../api/owner-kinds.ts';
import type { Condition } from '../../api/pool/status.ts';
import type { EventReason } from '../../api/reasons.ts';
import type { OwnerEvent } from '../owners/events.ts';
import type { StoredSet } from '../views/owner.ts';
import type { StoredPool } from '../views/pool.ts';
import type { StoredOperation } from '../views/stored-operation.ts';

/** What waits for a user, as the status of an object shows it. */
export type NoticeType =
  | 'rollout.waiting'
  | 'rollout.halted'
  | 'budget.full'
  | 'vm.givenup'
  | 'healing.suspended'
  | 'drain.stuck'
  | 'owner.stalled'
  | 'owner.failing'
  | 'operation.failed';

/** The object that a notice is about; without a namespace if it is cluster-wide. */
export interface About {
  kind: string;
  namespace?: string;
  name: string;
  uid: string;
  /** The VM of that object, if it is about one. */
  vm?: string;
}

/** Something that users are to know of, as the status of an object shows it. */
export interface Notice {
  type: NoticeType;
  about: About;
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

function noticeOf(owner: Owner, kind: VmOwnerKind, fields: NoticeFields, condition: Condition): Notice {
  const { type, which = '', since, command } = fields;
  const { namespace, name, uid } = owner.metadata;
  const { lastTransitionTime, reason = '', message = '' } = condition;
  return {
    type,
    about: { kind, namespace, name, uid },
    which,
    since: since ?? lastTransitionTime ?? DEFAULT_SINCE,
    reason,
    message,
    command: `${command} -n ${namespace}`,
  };
}

const KIND = 'VirtualMachinePool';

export function poolNotices(pool: StoredPool): Notice[] {
  if (pool.metadata.deletionTimestamp !== undefined) return [];
  const command = `drover status pool ${pool.metadata.name}`;
  return [
    ...rolloutNotices(pool),
    ...drainNotices(pool),
    ...healingNotices(pool),
    ...stalledNotices(pool, KIND, command),
  ];
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
    notices.push(noticeOf(pool, KIND, { type: 'rollout.waiting', ...step, command: promote }, progressing));
  }
  if (degraded?.status === 'True' && HALTED.has(degraded.reason)) {
    // An undo that fails is worse than what it undoes.
    const which = `${rollout?.revision}${degraded.reason === 'UndoFailed' ? '/UndoFailed' : ''}`;
    const since = rollout?.halted?.at;
    notices.push(noticeOf(pool, KIND, { type: 'rollout.halted', which, since, command }, degraded));
  }
  if (progressing !== undefined && budgetFullSince !== undefined) {
    const full = { which: 'rollout', since: budgetFullSince, command };
    notices.push(noticeOf(pool, KIND, { type: 'budget.full', ...full }, progressing));
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
    return [noticeOf(pool, KIND, { type: 'budget.full', which: 'drain', since, command }, drain)];
  if (drain?.reason !== 'Stuck') return [];
  return [noticeOf(pool, KIND, { type: 'drain.stuck', since, command }, drain)];
}

function healingNotices(pool: StoredPool): Notice[] {
  const { name } = pool.metadata;
  const suspended = conditionOf(pool.status, 'HealingSuspended');
  const notices = (pool.status?.healing?.finished ?? [])
    .filter(({ end }) => end === 'GivenUp')
    .map(({ vm, end, at, message }): Notice => {
      const condition = { type: 'Healing', status: 'False', reason: end, message: `${vm}: ${message}` } as const;
      const fields = { which: `${vm}/${at}`, since: at, command: `drover heal now pool ${name} ${vm}` };
      const notice = noticeOf(pool, KIND, { type: 'vm.givenup', ...fields }, condition);
      return { ...notice, about: { ...notice.about, vm } };
    });
  if (suspended?.reason !== 'TooManyUnhealthy') return notices;
  const command = `drover heal status pool ${name}`;
  return [...notices, noticeOf(pool, KIND, { type: 'healing.suspended', command }, suspended)];
}

export const setNotices = (set: StoredSet): Notice[] =>
  set.metadata.deletionTimestamp === undefined
    ? stalledNotices(set, set.kind, `drover status ${SET_NAMES[set.kind]} ${set.metadata.name}`)
    : [];

const SET_NAMES = { VirtualMachineReplicaSet: 'vmrs', VirtualMachineInstanceReplicaSet: 'vmirs' } as const;

function stalledNotices(owner: Owner, kind: VmOwnerKind, command: string): Notice[] {
  const stalled = conditionOf(owner.status, 'Stalled');
  const isStalled = stalled?.status === 'True' && !REPORTED_ELSEWHERE.has(stalled.reason);
  const noticeOfType = (type: NoticeType, condition: Condition): Notice =>
    noticeOf(owner, kind, { type, which: condition.reason ?? '', command }, condition);
  const failing = FAILING.flatMap((type) => conditionOf(owner.status, type) ?? []).filter(
    // What fails for too long is why the owner is stalled.
    ({ status, reason }) => status === 'True' && !(isStalled && stalled.reason === reason),
  );
  return [
    ...(isStalled ? [noticeOfType('owner.stalled', stalled)] : []),
    ...failing.map((condition) => noticeOfType('owner.failing', condition)),
  ];
}

/** Conditions that tell what can't be done, or is in the way; they may pass. */
const FAILING = ['ReplicaFailure', 'Contended', 'Overlapping'];

/** Returns how an operation has failed, unless a user has ended it. */
export function operationNotices({ metadata, status }: StoredOperation): Notice[] {
  const end = status?.conditions?.find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  );
  if (end?.type !== 'Failed' || end.reason === 'Aborted' || status?.completionTime === undefined) return [];
  const { namespace, name, uid } = metadata;
  const [kind, named] =
    namespace === undefined
      ? ['ClusterVirtualMachineOperation', `cvmop/${name}`]
      : ['VirtualMachineOperation', `${name} -n ${namespace}`];
  return [
    {
      type: 'operation.failed',
      about: { kind, ...(namespace === undefined ? {} : { namespace }), name, uid },
      which: '',
      since: status.completionTime,
      reason: end.reason ?? '',
      message: end.message ?? '',
      command: `drover operations describe ${named}`,
    },
  ];
}

/** The Events of these; the other notices have Events by the activities that meet them. */
const EVENTS: Partial<Record<NoticeType, EventReason>> = {
  'rollout.waiting': 'WaitingForApproval',
  'rollout.halted': 'RolloutHalted',
  'budget.full': 'BudgetFull',
  'drain.stuck': 'DrainStuck',
  'owner.stalled': 'Stalled',
};

/** Returns the Events about what a new status says that needs a person, and the one before did not. */
export function noticeEvents(before: readonly Notice[], after: readonly Notice[], now: number): OwnerEvent[] {
  const keyOf = ({ type, which, reason }: Notice): string => `${type}/${which}/${type === 'budget.full' ? reason : ''}`;
  const known = new Set(before.map(keyOf));
  return after.flatMap((notice): OwnerEvent[] => {
    const reason = EVENTS[notice.type];
    if (reason === undefined || known.has(keyOf(notice)) || !isDue(notice, now)) return [];
    return [{ type: 'Warning', reason, action: NOTICE_ACTION, note: `${notice.message}: \`${notice.command}\`` }];
  });
}
