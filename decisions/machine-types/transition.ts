import type { IntOrPercent } from '../../api/lib/int-or-percent.ts';
import type { LabelSelector, MaintenanceWindow, SelectionPolicy } from '../../api/pool/pool.ts';
import { OVER, type RunProgress, type RunOutline } from '../runs/progress.ts';
import { because, formatCounts, formatVms } from '../runs/report.ts';

/** Which VMs a transition is about; each condition narrows it further. */
export interface TransitionScope {
  /** Glob of machine types, as Go's `path.Match` reads it. */
  glob: string;
  /** Null: all namespaces. */
  namespaces: string[] | null;
  /** Without these, which are left to their own workers. */
  delegated?: string[];
  labelSelector: LabelSelector | null;
  /** `name` or `namespace/name`; empty: any name. */
  names: string[];
  /** Globs of `name` or `namespace/name`. */
  exclude: string[];
  only: 'running' | 'stopped' | null;
  /** Name or UID of the operation to undo: what that has changed is in scope, whatever its type. */
  undoes: string | null;
}

/** In which namespaces the VMs of a transition may be. */
export type Within = Pick<TransitionScope, 'namespaces' | 'delegated'>;

/** What a user asked for, by an operation with the action MachineType. */
export interface Transition {
  scope: TransitionScope;
  /** The machine type to be set; null: cleared, so that the preference's or the cluster's default fills it in. */
  to: string | null;
  /**
   * Whether to restart the VMIs that still have the old type; otherwise they are marked, and followed until their
   * owners have restarted them.
   */
  restartNow: boolean;
  /** How many of the running VMs in scope may be not ready at once, whatever the cause; at least one. */
  maxRestarts: IntOrPercent;
  /** More failed restarts than this end the transition. */
  maxFailures: number;
  /** How long a VM may take to be ready again. */
  deadlineMs: number;
  /** Restarts begin only inside one of these windows; if empty, at any time. */
  windows: MaintenanceWindow[];
  /** Which VMs are restarted first; scattered if absent. */
  order?: SelectionPolicy;
  /** Whether to continue if the preflight would refuse. */
  force: boolean;
  requestedBy: string;
  reason: string | null;
}

/** State of the VMs in a transition's scope; each VM is part of one count. */
export interface TransitionCounts {
  /** The spec or the VMI still has the old type, and nothing prevents a change. */
  toPatch: number;
  toRestart: number;
  /** The spec is changed; the owner is to restart the VM. */
  waiting: number;
  /** The pool updates the VM. */
  inPools: number;
  /** Paused, migrating, in a snapshot: handled later. */
  deferred: number;
  /** In flight: restarted, and not yet seen ready with the new type. */
  restarting: number;
  /** Skipped for good; the reason is shown. */
  excluded: number;
  /** Changed by this transition, with nothing left to do. */
  done: number;
}

type TransitionPhase = 'Checking' | 'Changing' | 'Waiting' | 'Paused' | 'Complete' | 'Failed' | 'Refused' | 'Aborted';

/** VMs for which clearing or setting the type has the same result. */
export interface TypeGroup {
  from: string;
  /** The type to be set; null: cleared. */
  wanted: string | null;
  architecture: string | null;
  /** `kind/name`. */
  preference: string | null;
}

/** What a transition means for one of drover's pools. */
export type PoolTransitionState =
  /** The template is not affected: the pool's VMs are treated like any others. */
  | { state: 'outOfScope' }
  /** Its template, of this revision, is as it should be, and the pool updates its VMs to it. */
  | { state: 'rolls'; revision: string }
  | { state: 'deferred'; message: string }
  | { state: 'excluded'; message: string };

/** Resulting type of the VMs of a group, found by a server-side dry run. */
export interface TransitionResult extends TypeGroup {
  /** Empty if no default fills it in. */
  to: string;
  vms: number;
  /** Why the type is not acceptable; null if it is. */
  fault: string | null;
}

export const NO_COUNTS: TransitionCounts = {
  toPatch: 0,
  toRestart: 0,
  waiting: 0,
  inPools: 0,
  deferred: 0,
  restarting: 0,
  excluded: 0,
  done: 0,
};

/** Progress of a transition. VMs are named by `namespace/name`. */
export interface TransitionProgress extends RunProgress {
  action: 'MachineType';
  phase: TransitionPhase;
  transition: Transition;
  results: TransitionResult[];
  counts: TransitionCounts;
  /** Number of VMs patched, and of VMs restarted, by drover since the transition began. */
  patched: number;
  restarted: number;
  failures: number;
  /** How many VMs may be not ready at once, computed at the beginning. */
  maxRestarts: number;
  startedAt: string;
}

const RESULTS_SHOWN = 20;

/**
 * Words for each count. If drover restarts VMs, `waiting` VMs are only those whose machine type is unknown until they
 * run.
 */
const countedAs = (restartNow: boolean): [Exclude<keyof TransitionCounts, 'done'>, string][] => [
  ['restarting', 'in progress'],
  ['toPatch', 'to change'],
  ['toRestart', 'to restart'],
  ['waiting', restartNow ? 'waiting until their VMIs run' : 'waiting for a restart by their owners'],
  ['inPools', 'rolled by their pools'],
  ['deferred', 'deferred'],
  ['excluded', 'excluded'],
];

/** What a transition does to the machine types of its VMs, in a few words. */
export function formatAim({ scope, to, restartNow }: Pick<Transition, 'scope' | 'to' | 'restartNow'>): string {
  const what = scope.undoes === null ? `${scope.glob} to ${to ?? 'the default'}` : `undo of ${scope.undoes}`;
  return `${what}, VMIs restarted by ${restartNow ? 'drover' : 'their owners'}`;
}

/** What an outline is made from: a run has it, and so does the status of its operation. */
export type OutlinedTransition = Pick<
  TransitionProgress,
  'transition' | 'counts' | 'failures' | 'patched' | 'restarted'
> & {
  phase: string;
  /** Null until the run has counted its VMs. */
  maxRestarts: number | null;
  results: (Pick<TransitionResult, 'from' | 'to' | 'vms'> & { fault: string | null })[];
};

export function transitionOutline(progress: OutlinedTransition): RunOutline {
  const { phase, transition, counts, failures, patched, restarted, results } = progress;
  const { toPatch, toRestart, waiting, inPools, deferred, restarting, done } = counts;
  const open = toPatch + toRestart + waiting + inPools + deferred + restarting;
  const of = done + open + failures;
  const counted = countedAs(transition.restartNow);
  const others = (keys: typeof counted): string[] => formatCounts(keys.map(([key, label]) => [counts[key], label]));
  const isKnown = phase !== 'Checking' && phase !== 'Refused';
  const acts = `${patched} changed${restarted === 0 ? '' : `, ${restarted} restarted`} by drover`;
  const rest = others(counted.filter(([key]) => key !== 'excluded')).join(', ');
  const failed = failures === 0 ? [] : [`${failures} failed`];
  return {
    numbers: isKnown ? { done, of, doneAs: 'done', others: [...others(counted), ...failed] } : null,
    end: `${done} of ${formatVms(of)} done: ${acts}${rest === '' ? '' : `; ${rest}`}`,
    open,
    isOver: OVER.has(phase),
    isTripped: phase === 'Failed' && open > 0,
    maxFailures: transition.maxFailures,
    failures,
    faults: results
      .filter(({ fault }) => fault !== null)
      .map(({ from, to, vms, fault }) => `${formatVms(vms)} with ${from} would get ${to}${because(fault)}`),
    about: [aboutOf(progress, isKnown), ...resultsOf(progress)],
  };
}

function aboutOf({ transition, maxRestarts }: OutlinedTransition, isKnown: boolean): string {
  const { restartNow, requestedBy, reason } = transition;
  const pace = restartNow && isKnown && maxRestarts !== null ? `, ${maxRestarts} at a time` : '';
  return `${formatAim(transition)}${pace}; requested by ${requestedBy}${because(reason)}`;
}

function resultsOf({ results }: OutlinedTransition): string[] {
  const good = results.filter(({ fault }) => fault === null);
  const more = good.length - RESULTS_SHOWN;
  return [
    ...good.slice(0, RESULTS_SHOWN).map(({ from, to, vms }) => `${from} becomes ${to} (${formatVms(vms)})`),
    ...(more > 0 ? [`and ${more} more kinds of VMs`] : []),
  ];
}
