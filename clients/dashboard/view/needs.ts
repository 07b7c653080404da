import { DEFAULT_DRAIN } from '../../../api/rules/pool-defaults.ts';
import { formatNames } from '../../../decisions/lib/names.ts';
import { operationNotices } from '../../../decisions/notices/notices.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import { isOver, progressOf } from '../../operations/print-operations.ts';
import type { DrainCard, Need, NeedKind, OperationCard, ScheduleCard } from '../contract/fleet.ts';
import { needOf, draftsOf, unseen, UNSEEN_MS, type NeedDraft } from './need.ts';

/** How long an operation may do nothing because all VMs that are left must wait, in milliseconds. */
const IDLE_MS = 10 * 60_000;
/** How long a failed operation needs a person, in milliseconds: nothing shows that somebody has looked at it. */
const FAILED_MS = 24 * 3_600_000;
/** How long after its time a schedule may do nothing, in milliseconds. */
const OVERDUE_MS = 60_000;
/** How long VMs may stay on a node that is drained, in milliseconds: as long as pools give them by default. */
const DRAIN_MS = DEFAULT_DRAIN.deadlineSeconds * 1_000;

export function operationNeeds(operation: StoredOperation, card: OperationCard, now: number): Need[] {
  const { namespace, name, actions } = card;
  const kind = namespace === null ? 'ClusterVirtualMachineOperation' : 'VirtualMachineOperation';
  return operationDrafts(operation, card, now).map((draft) =>
    needOf(
      card.id,
      { kind, namespace, name },
      { done: card.numbers, ...draft },
      ({ action }) => actions.find((button) => button.name === action) ?? null,
    ),
  );
}

function operationDrafts(operation: StoredOperation, card: OperationCard, now: number): NeedDraft[] {
  const { namespace, name, isPaused, createdAt } = card;
  if (isOver(operation))
    return draftsOf(name, operationNotices(operation), now).filter(
      ({ since }) => now - Date.parse(since ?? '') < FAILED_MS,
    );
  const shown = namespace === null ? `cvmop/${name}` : name;
  if (isPaused) {
    const { by, at, reason } = progressOf(operation).paused ?? { by: null, at: null, reason: null };
    return [
      {
        kind: 'operation-paused',
        sentence: `operation ${name} is paused${by === null ? '' : ` by ${by}`}${reason === null ? '' : `: ${reason}`}`,
        since: at,
        command: `drover operations resume ${shown}`,
        action: 'operation.resume',
      },
    ];
  }
  const age = now - Date.parse(createdAt);
  if (operation.status?.conditions === undefined && age >= UNSEEN_MS)
    return [unseen(`operation ${name}`, namespace, createdAt)];
  const message = age >= IDLE_MS ? whyIdle(card) : null;
  if (message === null) return [];
  const command = `drover operations describe ${shown}`;
  return [{ kind: 'late', sentence: `operation ${name} does nothing: ${message}`, since: createdAt, command }];
}

/** Null unless nothing is in progress, and all VMs that are left must wait for something else than the others. */
function whyIdle({ inProgress, open, skips, windows }: OperationCard): string | null {
  if (inProgress > 0 || open === 0) return null;
  if (windows?.isOpen === false) return windows.until === null ? 'none of its windows opens again' : null;
  const waiting = skips.filter(({ isExcluded }) => !isExcluded);
  const counted = waiting.reduce((sum, { count }) => sum + (count ?? 0), 0);
  if (counted < open) return null;
  return waiting.map(({ message, count, names }) => `${count} VMs (${formatNames(names)}): ${message}`).join('; ');
}

export function scheduleNeeds(schedule: StoredSchedule, card: ScheduleCard, now: number): Need[] {
  const { id, namespace, name } = card;
  const about = { kind: 'VirtualMachineOperationSchedule', namespace, name };
  return scheduleDrafts(schedule, card, now).map((draft) => needOf(id, about, draft));
}

function scheduleDrafts(schedule: StoredSchedule, card: ScheduleCard, now: number): NeedDraft[] {
  const { namespace, name, tone, sentence, nextAt } = card;
  if (tone === 'bad') {
    const failed = schedule.status?.conditions?.find(({ status }) => status === 'False');
    const since = failed?.lastTransitionTime ?? null;
    const command = `kubectl describe vmopschedule ${name}`;
    return [{ kind: 'schedule-failed', sentence: `schedule ${name}: ${sentence}`, since, command }];
  }
  const created = schedule.metadata.creationTimestamp;
  const isSeen = schedule.status?.conditions !== undefined;
  if (!isSeen && now - Date.parse(created) >= UNSEEN_MS) return [unseen(`schedule ${name}`, namespace, created)];
  const isOverdue = schedule.spec.suspend !== true && nextAt !== null && now - Date.parse(nextAt) >= OVERDUE_MS;
  return isOverdue ? [unseen(`schedule ${name}, which is due`, namespace, nextAt)] : [];
}

/** `since`: since when the node is drained, in milliseconds since the epoch; null if it is not, or nothing tells. */
export function drainNeeds(
  { id, node, remaining, migrating, toEvacuate }: DrainCard,
  since: number | null,
  now: number,
): Need[] {
  if (since === null || remaining === 0 || now - since < DRAIN_MS) return [];
  const sentence = `${remaining === 1 ? '1 VM has' : `${remaining} VMs have`} not left node ${node}, which is drained: ${migrating} migrating, ${toEvacuate} asked to leave`;
  const command = `drover drain status ${node}`;
  const draft: NeedDraft = { kind: 'drain.stuck', sentence, since: new Date(since).toISOString(), command };
  return [needOf(id, { kind: 'Node', namespace: null, name: node }, draft)];
}

/** `before`: what was reported before: it lasts since then, if no earlier time is known. */
export const workersNeed = (
  { sentence, since }: { sentence: string; since: string | null },
  before: Need | undefined,
  now: number,
): Need => ({
  id: 'workers',
  kind: 'no-worker',
  tone: 'bad',
  sentence,
  done: '',
  since: since ?? before?.since ?? new Date(now).toISOString(),
  about: { kind: 'Worker', namespace: null, name: 'drover' },
  vm: null,
  command: 'drover doctor',
  action: null,
});

const TONES: Record<Need['tone'], number> = { bad: 0, warn: 1 };
/** Without a worker, no word helps; then what waits for a person's word. */
const FIRST: readonly NeedKind[] = ['no-worker', 'rollout.waiting'];

const rankOf = ({ kind }: Need): number => (FIRST.indexOf(kind) + FIRST.length + 1) % (FIRST.length + 1);

/** What needs a person most first, then the oldest. */
export const byUrgency = (a: Need, b: Need): number =>
  TONES[a.tone] - TONES[b.tone] ||
  rankOf(a) - rankOf(b) ||
  (a.since ?? '').localeCompare(b.since ?? '') ||
  a.id.localeCompare(b.id);
