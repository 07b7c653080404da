import type { Stored } from '../../api/objects.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import type { OwnerKind } from '../cli/kinds.ts';
import { isPool, type Owner } from '../cli/owner.ts';
import { ageOf, paint, plain, bar, TONES, type Style } from '../cli/print.ts';
import { noteworthyLines } from '../rollout/lines.ts';
import type { Now } from '../runs/run-lines.ts';
import { conditionsBesideRollout } from '../view/conditions.ts';
import { notReadyAmong, type OwnerState } from './data.ts';
import { isStopped, formatStates, replicasAmong, standbyOf, whyNotReady } from './members.ts';
import type { OwnerProgress, Progress } from './progress.ts';

/** A pool or replica set to show. `progress`: undefined if its workflow was not asked yet. */
export type OwnerView = Omit<OwnerState, 'workflow' | 'progress' | 'warnings'> & {
  progress: Progress | undefined;
  warnings?: OwnerState['warnings'];
};

const ERRORS_SHOWN = 3;
const NOT_READY_SHOWN = 10;
const CONDITION_LENGTH = 300;
/** An error is not repeated if a condition shows its first characters, this many; the condition may be cut off. */
const SAME_LENGTH = 200;

/**
 * Returns the object in a few lines: its progress, its members by state, the rollout of a pool, what is in flight, what
 * went wrong last. `since`: as of when the age of a rollout is told.
 */
export function statusLines(view: OwnerView, now: number, since: Now): string[] {
  const { kind, members, rollout } = view;
  const conditions = conditionLines(view);
  return [
    headLine(view),
    `  ${kind.members.noun}s: ${formatStates(members)}`,
    ...notReadyLines(view, now),
    ...(rollout === undefined ? [] : noteworthyLines(rollout, since).map((line) => `  ${line}`)),
    ...conditions,
    ...inProgress(view, conditions, now),
  ];
}

function headLine({ kind, owner, members }: OwnerView): string {
  const { metadata, status } = owner;
  const replicas = replicasAmong(members);
  const stopped = replicas.filter(isStopped).length;
  const toRun = Math.max(0, wantedReplicas(owner) - stopped);
  const active = replicas.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  // As kubectl and all other commands count it: VMs whose VMIs run the template, too.
  const last = isPool(kind, owner)
    ? `${owner.status?.updatedReplicas ?? 0} updated`
    : `${status?.availableReplicas ?? 0} available`;
  const ready = replicas.filter(({ isReady }) => isReady).length;
  const name = paint('bold', `${metadata.namespace}/${metadata.name}`);
  const surge = members.filter(({ role }) => role === 'Surge').length;
  const extra = surge === 0 ? '' : `, ${surge} extra`;
  const halted = stopped === 0 ? '' : `, ${stopped} stopped`;
  const numbers = `${ready}/${toRun} ready${halted}, ${active.length} total, ${last}${extra}${formatStandby(kind, owner)}`;
  return `${name}  ${bar(ready, toRun)} ${numbers}${metadata.deletionTimestamp === undefined ? '' : ', being deleted'}`;
}

/** Why members are not ready, of an object that was named. */
const notReadyLines = ({ members, warnings }: OwnerView, now: number): string[] =>
  warnings === undefined
    ? []
    : notReadyAmong(members)
        .flatMap((member) => {
          const { name } = member.metadata;
          const message = whyNotReady(member, warnings.get(name), now);
          return message === '' ? [] : [coloured('yellow', `    ${name}: ${member.status}: ${message}`)];
        })
        .slice(0, NOT_READY_SHOWN);

function formatStandby(kind: OwnerKind, owner: Stored<Owner>): string {
  const standby = isPool(kind, owner) ? standbyOf(owner) : null;
  return standby === null || standby.wanted + standby.total === 0 ? '' : `, ${standby.ready}/${standby.wanted} standby`;
}

function inProgress({ owner, members, progress }: OwnerView, shown: string[], now: number): string[] {
  if (progress === undefined) return [];
  if (!progress.known) return [coloured('gray', `  in progress: not known, ${progress.message}`)];
  const { doing, retryAt } = progress.progress;
  const isAsWanted =
    replicasAmong(members).filter((one) => one.isReady || isStopped(one)).length >= wantedReplicas(owner);
  const isWell = isAsWanted && doing.length === 0 && retryAt === null;
  // What went wrong once is over then: `describe` and `history` still tell.
  return progressLines(isWell ? { ...progress.progress, recentErrors: [] } : progress.progress, shown, now);
}

const conditionLines = ({ kind, owner }: OwnerView): string[] =>
  conditionsBesideRollout(owner.status?.conditions, isPool(kind, owner)).map(({ type, reason, message, tone }) => {
    const line = `  ${type}: ${[reason, message].filter(Boolean).join(': ')}`;
    return coloured(TONES[tone], line.length > CONDITION_LENGTH ? `${line.slice(0, CONDITION_LENGTH)}…` : line);
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
