import type { Stored } from '../../api/objects.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import { roleOf } from '../../decisions/views/vm.ts';
import type { OwnerKind } from '../cli/kinds.ts';
import { isLiveTerminal } from '../cli/live.ts';
import { isPool, type Owner } from '../cli/owner.ts';
import { ageOf, paint, plain, bar, type Style } from '../cli/print.ts';
import type { Revision } from '../pool/revisions.ts';
import { rolloutView } from '../pool/view.ts';
import { noteworthyLines } from '../rollout/lines.ts';
import { isReady, formatStates, replicasAmong, standbyOf, type Member } from './members.ts';
import type { OwnerProgress, Progress } from './progress.ts';

/** A pool or replica set as the live view shows it. */
interface OwnerView {
  kind: OwnerKind;
  owner: Stored<Owner>;
  members: Stored<Member>[];
  /** `undefined` if its workflow was not asked yet, or Temporal is unknown. */
  progress: Progress | undefined;
  /** The known revisions of a pool, for their numbers. */
  revisions?: Revision[];
  /** Whether the object is drawn again and again as it changes. */
  isLive: boolean;
}

const ERRORS_SHOWN = 3;
/**
 * Conditions that say why VMs are missing, not ready or about to move, or what drover can't see or do. What comes and
 * goes in a pool is told of its rollout.
 */
const SHOWN_CONDITIONS = new Set([
  'Stalled',
  'MembershipChanging',
  'ReplicaFailure',
  'HousekeepingFailure',
  'Healing',
  'HealingSuspended',
  'ScaleInBlocked',
  'Draining',
  'EvictionsNotLimited',
  'ConfigurationNotWatched',
  'Drifted',
]);
const SHOWN_SET_CONDITIONS = new Set([
  'Stalled',
  'ReplicaFailure',
  'HousekeepingFailure',
  'Progressing',
  'Paused',
  'Overlapping',
]);
const CONDITION_LENGTH = 300;
/** An error is not repeated if a condition shows its first characters, this many; the condition may be cut off. */
const SAME_LENGTH = 200;

/**
 * Returns the object in a few lines: its progress, its members by state, the rollout of a pool, what is in flight, what
 * went wrong last.
 */
export function statusLines(view: OwnerView, now: number): string[] {
  const { kind, members } = view;
  const conditions = conditionLines(view);
  const head = [headLine(view), `  ${kind.members.noun}s: ${formatStates(members)}`];
  return [...head, ...rollout(view, now), ...conditions, ...inProgress(view, conditions, now)];
}

function rollout({ kind, owner, revisions, isLive }: OwnerView, now: number): string[] {
  if (!isPool(kind, owner)) return [];
  // In a log, a rollout that waits all night should not say so every second.
  const since = isLive && !isLiveTerminal(process.stdout) ? undefined : now;
  return noteworthyLines(rolloutView(owner, revisions), since).map((line) => `  ${line}`);
}

function headLine({ kind, owner, members }: OwnerView): string {
  const { metadata, status } = owner;
  const wanted = wantedReplicas(owner);
  const replicas = replicasAmong(members);
  const active = replicas.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  // As kubectl and all other commands count it: VMs whose VMIs run the template, too.
  const last = isPool(kind, owner)
    ? `${owner.status?.updatedReplicas ?? 0} updated`
    : `${status?.availableReplicas ?? 0} available`;
  const ready = replicas.filter(isReady).length;
  const name = paint('bold', `${metadata.namespace}/${metadata.name}`);
  const surge = members.filter(({ metadata }) => roleOf(metadata.labels) === 'Surge').length;
  const extra = surge === 0 ? '' : `, ${surge} extra`;
  const numbers = `${ready}/${wanted} ready, ${active.length} total, ${last}${extra}${formatStandby(kind, owner)}`;
  return `${name}  ${bar(ready, wanted)} ${numbers}${metadata.deletionTimestamp === undefined ? '' : ', being deleted'}`;
}

function formatStandby(kind: OwnerKind, owner: Stored<Owner>): string {
  const standby = isPool(kind, owner) ? standbyOf(owner) : null;
  return standby === null || standby.wanted + standby.total === 0 ? '' : `, ${standby.ready}/${standby.wanted} standby`;
}

function inProgress({ owner, members, progress }: OwnerView, shown: string[], now: number): string[] {
  if (progress === undefined) return [];
  if (!progress.known) return [coloured('gray', `  in progress: not known, ${progress.message}`)];
  const { doing, retryAt } = progress.progress;
  const isWell = members.filter(isReady).length >= wantedReplicas(owner) && doing.length === 0 && retryAt === null;
  // What went wrong once is over then: `describe` and `history` still tell.
  return progressLines(isWell ? { ...progress.progress, recentErrors: [] } : progress.progress, shown, now);
}

function styleOf(type: string, status: string): 'red' | 'cyan' | 'yellow' {
  if (type === 'ReplicaFailure' || type === 'Stalled') return 'red';
  return type === 'Progressing' || (type === 'Healing' && status === 'True') ? 'cyan' : 'yellow';
}

/** Whether a condition that says more has this reason, of the end of a rollout, of a surplus, or of a refusal. */
const isReportedElsewhere = ({ reason }: { reason?: string }, { status }: Owner): boolean =>
  (status?.conditions ?? []).some((other) => other.reason === reason && !['Ready', 'Stalled'].includes(other.type));

const conditionLines = ({ kind, owner }: OwnerView): string[] =>
  (owner.status?.conditions ?? [])
    .filter(({ type }) => (isPool(kind, owner) ? SHOWN_CONDITIONS : SHOWN_SET_CONDITIONS).has(type))
    .filter(({ type, status, message }) => status === 'True' || (type === 'Healing' && message))
    .filter((condition) => condition.type !== 'Stalled' || !isReportedElsewhere(condition, owner))
    .map(({ type, status, reason, message }) => {
      const line = `  ${type}: ${[reason, message].filter(Boolean).join(': ')}`;
      return coloured(
        styleOf(type, status),
        line.length > CONDITION_LENGTH ? `${line.slice(0, CONDITION_LENGTH)}…` : line,
      );
    });

function progressLines({ doing, recentErrors, retryAt }: OwnerProgress, shown: string[], now: number): string[] {
  return [
    ...doing.map((sentence) => coloured('cyan', `  in progress: ${sentence}`)),
    ...(retryAt === null ? [] : [`  next try in ${Math.max(0, Math.ceil((Date.parse(retryAt) - now) / 1000))}s`]),
    ...recentErrors
      .filter(({ message }) => !shown.some((line) => line.includes(plain(message).slice(0, SAME_LENGTH))))
      .slice(-ERRORS_SHOWN)
      .map(({ time, reason, message }) => coloured('yellow', `  ${ageOf(time, now)} ago: ${reason}: ${message}`)),
  ];
}

const coloured = (style: Style, text: string): string => paint(style, plain(text));
