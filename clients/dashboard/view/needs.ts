import type { Stored } from '../../../api/objects.ts';
import { formatNames } from '../../../decisions/lib/names.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import type { Owner } from '../../cli/owner.ts';
import { isOver } from '../../operations/print-operations.ts';
import type { ActionName, Healing, Need, NeedKind, OperationCard, OwnerCard, ScheduleCard } from '../contract/fleet.ts';

/** How long an object may wait for a worker before somebody should look, in milliseconds. */
export const UNSEEN_MS = 30_000;
/** How long the end of a failed operation needs a person, in milliseconds. */
const FAILED_MS = 24 * 3_600_000;

type Told = Pick<Need, 'kind' | 'sentence' | 'since' | 'command'> & {
  tone?: Need['tone'];
  vm?: string;
  action?: ActionName;
};

const conditionOf = ({ status }: Owner, type: string) =>
  status?.conditions?.find((one) => one.type === type && one.status === 'True');

interface Seen {
  /** Its VMs that fail, with since when each has not been ready; null if unknown. */
  failing: readonly { vm: string; since: string | null }[];
  /** Since when no worker has looked at its spec, in milliseconds since the epoch; null if one has. */
  unseenSince: number | null;
  now: number;
}

export function ownerNeeds(owner: Stored<Owner>, card: OwnerCard, { failing, unseenSince, now }: Seen): Need[] {
  const about = { kind: card.kind!, namespace: card.namespace, name: card.name };
  const word = card.id.split('/')[0]!;
  const told: Told[] = [
    ...rolloutNeeds(owner, card),
    ...healingNeeds(card),
    ...conditionNeeds(owner, card, word),
    ...failingNeeds(owner, card, failing, word),
    ...(unseenSince !== null && now - unseenSince >= UNSEEN_MS && !card.isDeleting
      ? [
          {
            kind: 'no-worker' as const,
            tone: 'bad' as const,
            sentence: `no worker has looked at ${card.name}: is one running that serves ${card.namespace}?`,
            since: new Date(unseenSince).toISOString(),
            command: 'drover doctor',
          },
        ]
      : []),
  ];
  return told.map((one) => needOf(card.id, about, one));
}

function needOf(id: string, about: Need['about'], { tone = 'warn', vm, action, command, ...rest }: Told): Need {
  const where = about.namespace === null || command === 'drover doctor' ? '' : ` -n ${about.namespace}`;
  return {
    id: [id, rest.kind, ...(vm === undefined ? [] : [vm])].join('#'),
    tone,
    about,
    vm: vm ?? null,
    action: action ?? null,
    command: `${command}${where}`,
    ...rest,
  };
}

function rolloutNeeds(owner: Stored<Owner>, { name, rollout }: OwnerCard): Told[] {
  if (rollout === null) return [];
  const { phase, end, sentence, paused, halted, steps } = rollout;
  const since = conditionOf(owner, 'Progressing')?.lastTransitionTime ?? rollout.startedAt;
  const command = (verb: string): string => `drover rollout ${verb} pool ${name}`;
  if (paused !== null && phase !== 'Deleting') {
    const why = paused.why === null ? '' : `: ${paused.why}`;
    const action = paused.by === 'spec.paused' ? {} : { action: 'rollout.resume' as const };
    return [
      {
        kind: 'paused',
        sentence: `${name} is paused by ${paused.by}${why}`,
        since: paused.at,
        command: command('resume'),
        ...action,
      },
    ];
  }
  if (phase === 'WaitingForApproval') {
    const at = steps.findIndex(({ state }) => state === 'reached') + 1;
    const step = at === 0 ? '' : ` at step ${at} of ${steps.length}`;
    return [
      {
        kind: 'approval',
        tone: 'bad',
        sentence: `the rollout of ${name} waits for approval${step}`,
        since: (owner as Stored<Pool>).status?.rollout?.stepReachedAt ?? since,
        command: command('promote'),
        action: 'rollout.promote',
      },
    ];
  }
  if (end === 'Failed') {
    const why = sentence === '' ? (halted?.why ?? '') : sentence;
    const told = { kind: 'halted' as const, sentence: `the rollout of ${name} is ${phase}: ${why}` };
    return [{ ...told, tone: 'bad', since: halted?.at ?? since, command: command('undo'), action: 'rollout.undo' }];
  }
  if (end === 'Blocked') {
    const told = { kind: 'budget-full' as const, sentence: `the rollout of ${name} can't continue: ${sentence}` };
    return [{ ...told, tone: 'bad', since, command: command('status') }];
  }
  return [];
}

/** A pause says more than the condition that it leads to. */
function heldUp(name: string, paused: Healing['paused'], suspended: string | null): Told[] {
  if (paused !== null)
    return [
      {
        kind: 'healing-suspended',
        sentence: `the healing of ${name} is paused by ${paused.by}${paused.why === null ? '' : `: ${paused.why}`}`,
        since: paused.at,
        command: `drover heal resume pool ${name}`,
        action: 'heal.resume',
      },
    ];
  if (suspended === null) return [];
  const sentence = `${name} heals no VM: ${suspended}`;
  const command = `drover heal status pool ${name}`;
  return [{ kind: 'healing-suspended', tone: 'bad', sentence, since: null, command }];
}

function healingNeeds({ name, healing }: OwnerCard): Told[] {
  if (healing === null) return [];
  const { paused, suspended, givenUp } = healing;
  return [
    ...heldUp(name, paused, suspended),
    ...givenUp.map(({ vm, why, at }) => ({
      kind: 'given-up' as const,
      tone: 'bad' as const,
      sentence: `${vm} was given up: ${why}`,
      since: at,
      vm,
      command: `drover heal now pool ${name} ${vm}`,
      action: 'heal.now' as const,
    })),
  ];
}

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
      ...(left.length === 1 ? { vm: first.vm } : {}),
    },
  ];
}

const OF_CONDITIONS: readonly [type: string, kind: NeedKind][] = [
  ['Stalled', 'stalled'],
  ['ReplicaFailure', 'stalled'],
  ['Contended', 'stalled'],
  ['Overlapping', 'stalled'],
];

function conditionNeeds(owner: Stored<Owner>, { name, rollout }: OwnerCard, word: string): Told[] {
  const draining = conditionOf(owner, 'Draining');
  const stuck: Told[] =
    draining?.reason !== 'Stuck'
      ? []
      : [
          {
            kind: 'drain-stuck',
            tone: 'bad',
            sentence: `VMs of ${name} can't leave nodes: ${draining.message ?? ''}`,
            since: draining.lastTransitionTime ?? null,
            command: `drover describe ${word} ${name}`,
          },
        ];
  // A failed rollout has a sentence of its own.
  const isTold = rollout?.end === 'Failed' || rollout?.end === 'Blocked';
  const [found] = OF_CONDITIONS.flatMap(([type, kind]) => {
    const condition = conditionOf(owner, type);
    if (condition === undefined || (type === 'Stalled' && isTold)) return [];
    const { reason = '', message = '', lastTransitionTime = null } = condition;
    const sentence = `${name}: ${[reason, message].filter(Boolean).join(': ')}`;
    const command = `drover describe ${word} ${name}`;
    return [{ kind, tone: 'bad' as const, sentence, since: lastTransitionTime, command }];
  });
  return found === undefined ? stuck : [...stuck, found];
}

export function operationNeeds(operation: StoredOperation, card: OperationCard, now: number): Need[] {
  const { namespace, name } = card;
  const about = {
    kind: operation.kind ?? (namespace === null ? 'ClusterVirtualMachineOperation' : 'VirtualMachineOperation'),
    namespace,
    name,
  };
  const word = namespace === null ? `cvmop/${name}` : name;
  const isRecent = card.endedAt === null || now - Date.parse(card.endedAt) < FAILED_MS;
  if (isOver(operation) && card.tone === 'bad' && isRecent) {
    const told = { kind: 'operation-failed' as const, tone: 'bad' as const };
    const sentence = `operation ${name} has ended ${card.state}: ${card.sentence}`;
    return [
      needOf(card.id, about, { ...told, sentence, since: card.endedAt, command: `drover operations logs ${word}` }),
    ];
  }
  if (!card.isPaused || isOver(operation)) return [];
  const told = { kind: 'operation-paused' as const, sentence: `operation ${name} is paused` };
  const paused = operation.status?.conditions?.find(({ type, status }) => type === 'Paused' && status === 'True');
  const since = paused?.lastTransitionTime ?? null;
  return [
    needOf(card.id, about, { ...told, since, command: `drover operations resume ${word}`, action: 'operation.resume' }),
  ];
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

const TONES: Record<Need['tone'], number> = { bad: 0, warn: 1 };
/** What waits for a person's word comes first. */
const FIRST: readonly NeedKind[] = ['approval'];

/** What needs a person most first, then the oldest. */
export const byUrgency = (one: Need, other: Need): number =>
  TONES[one.tone] - TONES[other.tone] ||
  Number(FIRST.includes(other.kind)) - Number(FIRST.includes(one.kind)) ||
  (one.since ?? '').localeCompare(other.since ?? '') ||
  one.id.localeCompare(other.id);
