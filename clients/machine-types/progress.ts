import { formatNames } from '../../decisions/lib/names.ts';
import type {
  TransitionCounts,
  TransitionPhase,
  TransitionProgress,
} from '../../decisions/machine-types/transition.ts';
import { Failure } from '../cli/failure.ts';
import { paint, plain } from '../cli/output.ts';
import { bar } from '../owners/status-view.ts';
import { formatAim, because, formatVms } from './format.ts';

const FAILURES_SHOWN = 20;

/**
 * Words for each count that isn't zero. If drover restarts VMs, `waiting` VMs are only those whose machine type is
 * unknown until they run.
 */
const countedAs = (restartNow: boolean): [keyof TransitionCounts, string][] => [
  ['toPatch', 'to change'],
  ['toRestart', 'to restart'],
  ['restarting', 'restarting'],
  ['waiting', restartNow ? 'waiting until their VMIs run' : 'waiting for a restart by their owners'],
  ['inPools', 'rolled by their pools'],
  ['deferred', 'deferred'],
  ['excluded', 'excluded'],
];

const OVER = new Set<TransitionPhase>(['Complete', 'Failed', 'Refused', 'Aborted']);

/** Describes the state of a transition in a few lines. */
export function transitionLines(id: string, progress: TransitionProgress): string[] {
  const { phase, transition, results, counts, failed, failures, inProgress, skipped, full, paused, aborted } = progress;
  const { done } = counts;
  const all = inScope(progress);
  const numbers = [
    `${done}/${all} done`,
    ...formatCounts(progress),
    ...(failures === 0 ? [] : [`${failures} failed`]),
  ].join(', ');
  const isOver = OVER.has(phase);
  const isKnown = phase !== 'Checking' && phase !== 'Refused';
  const pace = transition.restartNow && isKnown ? `, ${progress.maxRestarts} at a time` : '';
  return [
    `${paint('bold', id)}  ${bar(done, isKnown ? all : 1)} ${isKnown ? `${numbers}: ` : ''}${phase}`,
    plain(`  ${formatAim(transition)}${pace}; requested by ${transition.requestedBy}${because(transition.reason)}`),
    ...results
      .filter(({ fault }) => fault !== null)
      .map(({ from, to, vms, fault }) =>
        paint('yellow', plain(`  ${formatVms(vms)} with ${from} would get ${to}: ${fault}`)),
      ),
    ...(paused === null || isOver ? [] : [paint('yellow', plain(`  paused by ${paused.by}${because(paused.why)}`))]),
    ...(aborted === null ? [] : [paint('yellow', plain(`  aborted by ${aborted.by}${because(aborted.why)}`))]),
    ...(isCutShort(progress) ? [paint('red', plain(`  ${tooMany(progress)}`))] : []),
    ...(inProgress.length === 0 ? [] : [plain(`  in progress: ${formatNames(inProgress)}`)]),
    ...(full.length === 0 || isOver ? [] : [plain(`  no further restart now: ${full.join(', ')}`)]),
    ...skipped.map(({ why, count, vms, isExcluded }) =>
      plain(
        `  ${isExcluded ? 'excluded' : 'deferred'}: ${formatNames(vms)}${count > vms.length ? `, ${count} in all` : ''}: ${why}`,
      ),
    ),
    ...failed.slice(-FAILURES_SHOWN).map((failure) => paint('red', plain(`  ${formatFailure(failure)}`))),
  ];
}

const formatCounts = ({ counts, transition }: Pick<TransitionProgress, 'counts' | 'transition'>): string[] =>
  countedAs(transition.restartNow)
    .filter(([key]) => counts[key] > 0)
    .map(([key, words]) => `${counts[key]} ${words}`);

/** VMs that the transition still has to act on, or waits for. */
const openOf = ({ toPatch, toRestart, waiting, inPools, deferred, restarting }: TransitionCounts): number =>
  toPatch + toRestart + waiting + inPools + deferred + restarting;

/** All VMs of the transition, except those excluded. */
const inScope = ({ counts, failures }: TransitionProgress): number => counts.done + openOf(counts) + failures;

/** How it ended, or what it has done so far, in a sentence. */
export function formatEnd(progress: TransitionProgress): string {
  const { patched, restarted, counts } = progress;
  const open = formatCounts({ ...progress, counts: { ...counts, excluded: 0 } });
  const acts = `${patched} changed${restarted === 0 ? '' : `, ${restarted} restarted`} by drover`;
  return `${counts.done} of ${formatVms(inScope(progress))} done: ${acts}${open.length === 0 ? '' : `; ${open.join(', ')}`}`;
}

/** What was asked for and not done, a sentence each; empty if all was done. VMs that it still waits for don't count. */
export function shortfalls(id: string, progress: TransitionProgress): Failure[] {
  const { phase, counts, failed, failures, aborted } = progress;
  const shown = failed.slice(-FAILURES_SHOWN);
  const sentences = shown.map(formatFailure);
  if (failures > shown.length)
    sentences.push(`${failures - shown.length} more VMs failed: \`drover machine-types report ${id}\` lists them`);
  const open = openOf(counts);
  if (open > 0 && aborted !== null && phase === 'Aborted')
    sentences.push(`${formatUndone(open)}: ${id} was aborted by ${aborted.by}${because(aborted.why)}`);
  if (isCutShort(progress)) sentences.push(tooMany(progress));
  return sentences.map((sentence) => new Failure(plain(sentence)));
}

/** VMs that must not be touched, one line per reason. */
export const exclusions = ({ skipped }: TransitionProgress): string[] =>
  skipped
    .filter(({ isExcluded }) => isExcluded)
    .map(({ vms, why, count }) =>
      plain(`excluded: ${formatNames(vms)}${count > vms.length ? `, ${count} in all` : ''}: ${why}`),
    );

/** Reports whether it ended early, with VMs left, because too many had failed. */
const isCutShort = ({ phase, counts }: TransitionProgress): boolean => phase === 'Failed' && openOf(counts) > 0;
const tooMany = ({ counts, transition }: TransitionProgress): string =>
  `${formatUndone(openOf(counts))}: too many have failed (--max-failures ${transition.maxFailures})`;
const formatUndone = (count: number): string => (count === 1 ? '1 VM is not done' : `${count} VMs are not done`);
const formatFailure = ({ vm, why }: TransitionProgress['failed'][number]): string => `${vm} failed: ${why}`;
