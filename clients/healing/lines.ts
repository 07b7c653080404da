import { formatAllNotReplaced } from '../../decisions/healing/format.ts';
import { formatRequest, formatVms } from '../../decisions/runs/report.ts';
import { ageOf, paint, plain, shortDuration, table, type Cell, type Style } from '../cli/print.ts';
import { whenOf } from '../runs/run-lines.ts';
import type { HealView } from './view.ts';

const ENDED_SHOWN = 20;

/**
 * Describes the healing of a pool: its state and why, the VMs being replaced, and those whose replacement has ended.
 */
export function healLines(view: HealView, now: number): string[] {
  const { cycles, finished } = view;
  const ended = finished.slice(-ENDED_SHOWN);
  const earlier = finished.length - ended.length;
  return [
    ...stateLines(view, now),
    ...(cycles.length === 0 ? [] : ['', ...cyclesTable(cycles, now)]),
    ...(ended.length === 0 ? [] : ['', ...endedTable(ended, now)]),
    ...(earlier === 0 ? [] : [`${earlier} older ones: -o json`]),
  ];
}

/** The state of healing, who paused it, and which unhealthy VMs wait. */
export function stateLines(view: HealView, now: number): string[] {
  const { phase, notReplaced, notListed, paused, suspended } = view;
  // A user's pause has its own line, which says since when.
  const isReported = suspended === null || (suspended.reason === 'PausedByUser' && paused !== null);
  return [
    `${paint(styleOf(view), phase)}: ${formatPhase(view)}`,
    ...(paused === null ? [] : [paint('yellow', plain(formatRequest('paused', paused, ` ${whenOf(paused.at, now)}`)))]),
    ...(isReported
      ? []
      : [
          paint(
            suspended.reason === 'TooManyUnhealthy' ? 'red' : 'yellow',
            plain(`suspended, ${suspended.reason}: ${suspended.message}`),
          ),
        ]),
    ...formatAllNotReplaced(notReplaced).map(({ sentence }) => plain(sentence)),
    ...(notListed === 0 ? [] : [`and ${notListed} more`]),
  ];
}

function styleOf({ phase, cycles, suspended }: HealView): Style {
  if (phase === 'Off') return 'gray';
  if (suspended !== null || phase === 'Waiting') return 'yellow';
  if (cycles.length > 0) return 'cyan';
  return phase === 'NothingToHeal' ? 'green' : 'yellow';
}

function formatPhase({ pool, phase, autohealing, cycles, finished }: HealView): string {
  const ended = finished.filter(({ end }) => end === 'GivenUp' || end === 'Skipped').map(({ vm }) => vm);
  const also =
    ended.length === 0
      ? ''
      : `; ${formatVms(ended.length)} given up or skipped: \`drover heal now pool ${pool} ${ended.length === 1 ? ended[0]! : 'NAME'}\` heals it again`;
  if (phase === 'Deleting') return 'the pool is being deleted, and its VMs with it';
  if (phase === 'Pending') return 'drover has not looked at the newest spec yet';
  if (cycles.length > 0)
    return `${formatVms(cycles.length)} ${cycles.length === 1 ? 'is' : 'are'} being replaced${also}`;
  if (!autohealing) return 'the pool has no spec.autohealing: VMs that fail are not replaced';
  return phase === 'Waiting' ? `unhealthy VMs are not replaced${also}` : `no VM is unhealthy${also}`;
}

function cyclesTable(cycles: HealView['cycles'], now: number): string[] {
  const rows = cycles.map(({ vm, attempt, phase, nextAt, startedAt, message }): Cell[] => [
    vm,
    attempt,
    phase,
    nextTry(nextAt, now),
    ageOf(startedAt, now),
    message,
  ]);
  return table(['VM', 'ATTEMPT', 'PHASE', 'NEXT TRY', 'SINCE', 'WHY'], rows);
}

/** `in 4m (2026-01-01T00:04:00Z)`. */
export function nextTry(nextAt: string | null, now: number): string {
  if (nextAt === null) return '<none>';
  const remainingMs = Date.parse(nextAt) - now;
  return `${remainingMs <= 0 ? 'now' : `in ${shortDuration(remainingMs)}`} (${nextAt.slice(0, 19)}Z)`;
}

const END_STYLES: Record<HealView['finished'][number]['end'], Style> = {
  Healed: 'green',
  GivenUp: 'red',
  Skipped: 'yellow',
  Left: 'gray',
  Refused: 'red',
};

function endedTable(finished: HealView['finished'], now: number): string[] {
  const rows = finished.map(({ vm, attempts, end, at, message }): Cell[] => [
    vm,
    attempts,
    { text: end, style: END_STYLES[end] },
    `${ageOf(at, now)} ago`,
    message,
  ]);
  return table(['ENDED', 'REPLACEMENTS', 'END', 'WHEN', 'WHY'], rows);
}
