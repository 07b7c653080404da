import type { Stored } from '../../api/objects.ts';
import type { PoolProgress } from '../../workflows/messages.ts';
import { ageOf, paint, plain, type Style } from '../cli/output.ts';
import type { Progress } from '../cli/progress.ts';
import type { Pool } from '../pools/objects.ts';
import { noteworthyLines } from '../rollout/lines.ts';
import type { Revision } from '../rollout/revisions/revisions.ts';
import { rolloutView } from '../rollout/view.ts';
import { isReady, formatStates, type Vm } from './members.ts';

/** A pool as the live view shows it. */
export interface PoolView {
  pool: Stored<Pool>;
  vms: Stored<Vm>[];
  /** `undefined` if its workflow was not asked yet, or Temporal is unknown. */
  progress: Progress | undefined;
  /** The known revisions, for their numbers. */
  revisions?: Revision[];
  /** Whether the pool is drawn again and again as it changes. */
  isLive: boolean;
}

const BAR = 20;
const TROUBLES = 3;
/** Conditions that say why VMs are missing or not ready. */
const TOLD = new Set(['Stalled', 'ReplicaFailure', 'Healing', 'HealingSuspended']);
const CONDITION_LENGTH = 300;
/** An error is not repeated if a condition shows its first characters, this many; the condition may be cut off. */
const SAME_LENGTH = 200;

/**
 * Returns the pool in a few lines: its progress, its VMs by state, its rollout, what is in flight, what went wrong
 * last.
 */
export function statusLines({ pool, vms, progress, revisions, isLive }: PoolView, now: number): string[] {
  // In a log, a rollout that waits all night should not say so every second.
  const since = isLive && !process.stdout.isTTY ? undefined : now;
  const rollout = noteworthyLines(rolloutView(pool, revisions), since).map((line) => `  ${line}`);
  const conditions = conditionLines(pool);
  const head = [headLine(pool, vms), `  VMs: ${formatStates(vms)}`];
  return [...head, ...rollout, ...conditions, ...inProgress(progress, conditions, now)];
}

function headLine({ metadata, spec, status }: Stored<Pool>, vms: Stored<Vm>[]): string {
  const active = vms.filter((vm) => vm.metadata.deletionTimestamp === undefined);
  // As kubectl and all other commands count it: VMs whose VMIs run the template, too.
  const updated = status?.updatedReplicas ?? 0;
  const ready = vms.filter(isReady).length;
  const name = paint('bold', `${metadata.namespace}/${metadata.name}`);
  const numbers = `${ready}/${spec.replicas} ready, ${active.length} total, ${updated} updated`;
  return `${name}  ${bar(ready, spec.replicas)} ${numbers}${metadata.deletionTimestamp === undefined ? '' : ', being deleted'}`;
}

function inProgress(progress: Progress | undefined, told: string[], now: number): string[] {
  if (progress === undefined) return [];
  if (!progress.known) return [coloured('gray', `  in progress: not known, ${progress.why}`)];
  return progressLines(progress.progress, told, now);
}

/** Draws how much of a whole is ready. */
export function bar(ready: number, desired: number): string {
  const full = desired === 0 ? BAR : Math.min(BAR, Math.floor((ready / desired) * BAR));
  return paint(ready >= desired ? 'green' : 'yellow', '█'.repeat(full)) + paint('gray', '░'.repeat(BAR - full));
}

function styleOf(type: string, status: string): 'red' | 'cyan' | 'yellow' {
  if (type === 'ReplicaFailure' || type === 'Stalled') return 'red';
  return type === 'Healing' && status === 'True' ? 'cyan' : 'yellow';
}

const conditionLines = ({ status }: Pool): string[] =>
  (status?.conditions ?? [])
    .filter(({ type, status, message }) => TOLD.has(type) && (status === 'True' || (type === 'Healing' && message)))
    .map(({ type, status, reason, message }) => {
      const line = `  ${type}: ${[reason, message].filter(Boolean).join(': ')}`;
      return coloured(
        styleOf(type, status),
        line.length > CONDITION_LENGTH ? `${line.slice(0, CONDITION_LENGTH)}…` : line,
      );
    });

function progressLines({ doing, recentErrors, retryAt }: PoolProgress, told: string[], now: number): string[] {
  return [
    ...doing.map((sentence) => coloured('cyan', `  in progress: ${sentence}`)),
    ...(retryAt === null ? [] : [`  next try in ${Math.max(0, Math.ceil((Date.parse(retryAt) - now) / 1000))}s`]),
    ...recentErrors
      .filter(({ message }) => !told.some((line) => line.includes(plain(message).slice(0, SAME_LENGTH))))
      .slice(-TROUBLES)
      .map(({ time, reason, message }) => coloured('yellow', `  ${ageOf(time, now)} ago: ${reason}: ${message}`)),
  ];
}

const coloured = (style: Style, text: string): string => paint(style, plain(text));
