import { MAX_RESULTS_LISTED } from '../../api/operations/defaults-and-limits.ts';
import type { MachineTypeStatus } from '../../api/operations/machine-type.ts';
import type { OperationStatus } from '../../api/operations/operation.ts';
import type { EndReason, ProgressingReason } from '../../api/operations/reasons.ts';
import {
  transitionOutline,
  type OutlinedTransition,
  type Transition,
  type TransitionProgress,
} from '../machine-types/transition.ts';
import { ACTION_LABELS } from '../power/action.ts';
import { powerOutline, type PowerProgress } from '../power/progress.ts';

/** What the run of an operation tells, whatever it does. */
export type OperationProgress = PowerProgress | TransitionProgress;

/** What of a run only those of its action know. */
interface ActionReport extends Pick<OperationStatus, 'machineType'> {
  vms: NonNullable<OperationStatus['vms']>;
  /** What is done now, while it is neither paused nor over. */
  doing: ProgressingReason;
  /** How far it is, in a sentence. */
  numbers: string;
  /** How it has ended, if it has. */
  end: { reason: EndReason; message: string };
}

export const actionReport = (progress: OperationProgress): ActionReport =>
  progress.action === 'MachineType' ? transitionReport(progress) : powerReport(progress);

function powerReport(progress: PowerProgress): ActionReport {
  const { action, phase, chosen, done, failures, inProgress, open } = progress;
  const { doing, done: doneAs } = ACTION_LABELS[action];
  const parts = [
    `${done} of ${chosen} VMs ${doneAs.toLowerCase()}`,
    `${inProgress.length} in progress`,
    `${open} to go`,
    ...(failures === 0 ? [] : [`${failures} failed`]),
  ];
  const isHeld = progress.full.length > 0 || progress.skipped.some(({ isExcluded }) => !isExcluded);
  const doingNow = inProgress.length === 0 && open > 0 && isHeld ? 'Waiting' : doing;
  const lengths = { done, failed: failures, inProgress: inProgress.length };
  return {
    vms: { chosen, ...lengths, open, excluded: excludedOf(progress) },
    doing: phase === 'Checking' ? phase : doingNow,
    numbers: parts.join(', '),
    end: endOf(progress, { ...lengths, open, said: powerOutline(progress).end }),
  };
}

function transitionReport(progress: TransitionProgress): ActionReport {
  const { phase, counts, failures, results } = progress;
  const { toPatch, toRestart, waiting, inPools, deferred, restarting, excluded, done } = counts;
  const open = toPatch + toRestart + waiting + inPools + deferred;
  const { end: said } = transitionOutline(progress);
  const numbers = { done, failed: failures, inProgress: restarting, open };
  return {
    vms: { chosen: done + open + restarting + failures + excluded, ...numbers, excluded },
    machineType: {
      changed: progress.patched,
      restarted: progress.restarted,
      toChange: toPatch,
      toRestart,
      waiting,
      inPools,
      deferred,
      atOnce: progress.maxRestarts,
      results: results.slice(0, MAX_RESULTS_LISTED).map(({ from, to, vms, fault }) => ({
        from,
        to,
        vms,
        ...(fault === null ? {} : { fault }),
      })),
    },
    doing: phase === 'Checking' || phase === 'Waiting' ? phase : 'Changing',
    numbers: said,
    end: endOf(progress, { ...numbers, said }),
  };
}

/** What `transitionOutline` shows, from what the status of an operation tells. */
export function outlinedTransition(
  transition: Transition,
  phase: string,
  vms: ActionReport['vms'] | undefined,
  machineType: MachineTypeStatus | undefined,
): OutlinedTransition {
  const { done = 0, failed = 0, inProgress = 0, excluded = 0 } = vms ?? {};
  const { toChange = 0, toRestart = 0, waiting = 0, inPools = 0, deferred = 0 } = machineType ?? {};
  return {
    transition,
    phase,
    counts: { toPatch: toChange, toRestart, waiting, inPools, deferred, restarting: inProgress, excluded, done },
    failures: failed,
    patched: machineType?.changed ?? 0,
    restarted: machineType?.restarted ?? 0,
    maxRestarts: machineType?.atOnce ?? null,
    results: (machineType?.results ?? []).map(({ fault = null, ...result }) => ({ ...result, fault })),
  };
}

const excludedOf = ({ skipped }: OperationProgress): number =>
  skipped.reduce((sum, { isExcluded, count }) => sum + (isExcluded ? count : 0), 0);

function endOf(
  { aborted }: OperationProgress,
  { failed, open, said }: { failed: number; open: number; said: string },
): ActionReport['end'] {
  if (aborted !== null) return { reason: 'Aborted', message: `${said}; aborted by ${aborted.by}${reason(aborted)}` };
  if (failed > 0) return { reason: 'VmsFailed', message: `${said}, ${failed} failed` };
  if (open > 0) return { reason: 'Incomplete', message: `${said}, ${open} left that could not be touched` };
  return { reason: 'Complete', message: said };
}

const reason = (request: { reason: string | null }): string => (request.reason === null ? '' : `: ${request.reason}`);
