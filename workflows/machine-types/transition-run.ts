import { log, proxyActivities } from '@temporalio/workflow';
import type { TransitionRequest } from '../../activities/machine-types/context.ts';
import type { MachineTypeActivities } from '../../activities/machine-types/machine-types.ts';
import type { TypeChanges, Unpatched } from '../../activities/machine-types/patch-vms.ts';
import type { FollowedTransition } from '../../activities/machine-types/transition-method.ts';
import type { Act, BegunAct } from '../../decisions/history/act.ts';
import { pick } from '../../decisions/lib/json.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { NotRetried } from '../../decisions/machine-types/not-retried.ts';
import {
  addOutcome,
  isAtWork,
  isFullOf,
  mayFail,
  newTally,
  TALLIED,
  transitionProgress,
  type TransitionTally,
} from '../../decisions/machine-types/transition-tally.ts';
import { NO_COUNTS, transitionOutline, type TransitionProgress } from '../../decisions/machine-types/transition.ts';
import type { TransitionRunInput } from '../../decisions/operations/run-input.ts';
import type { PowerOutcome } from '../../decisions/power/outcome.ts';
import { addFailure } from '../../decisions/runs/failures.ts';
import type { FailedVm, RunOutline } from '../../decisions/runs/progress.ts';
import type { Journal } from '../history/journal.ts';
import { actingActivities } from '../lib/queues.ts';
import { newRunState, Run, UNTIL_DONE, type RunState } from '../runs/run.ts';
import { awaitDetails, CHECK, PREFLIGHT } from './details.ts';
import { actOf, recordChanges } from './records.ts';

/**
 * Plain data: each run hands it to the next. Holds only VMs in flight and failed VMs; everything else is in the
 * cluster.
 */
interface TransitionState extends RunState, TransitionTally, Pick<TransitionProgress, 'counts' | 'skipped' | 'full'> {
  /** How many calls of the activity that restarts VMs have told what they did. */
  turn: number;
}

const begun = (failed?: FailedVm[]): TransitionState => ({
  ...newRunState(),
  ...newTally(new Date(Date.now()).toISOString(), failed),
  counts: NO_COUNTS,
  skipped: [],
  full: [],
  turn: 0,
});

/** What is to be done, and how far that is: plain data. */
export interface CarriedTransition {
  input: TransitionRunInput;
  /** Null if it has not begun. */
  state: TransitionState | null;
  /** What was done before. */
  acts?: Act[];
  /** VMs that have failed before the operation begins anew. */
  failed?: FailedVm[];
}

const acting = () => actingActivities<MachineTypeActivities>();
const { preflightTransition, checkMachineTypes, patchMachineTypes, clearTransitionLabels } =
  proxyActivities<MachineTypeActivities>(UNTIL_DONE);

const MAX_CHANGED_LISTED = 100;

type Working = 'Changing' | 'Waiting';

/**
 * Changes the machine type of VMs of any owner, and follows each VM until its VMI has the new type: restarted by
 * drover, within a budget, or by its owner. Keeps no list of VMs: each turn reads from the cluster what is still to be
 * done, a few hundred names at most.
 */
export class TransitionRun extends Run<FollowedTransition, Working> {
  readonly #input: TransitionRunInput;
  readonly #state: TransitionState;

  constructor({ input, state: carried, failed }: CarriedTransition, journal: Journal) {
    const state = carried ?? begun(failed);
    super(state, 'Changing', { journal, isNew: carried === null });
    this.#input = input;
    this.#state = state;
  }

  get progress(): TransitionProgress {
    const state = this.#state;
    const inProgress = state.inProgress.map(({ vm }) => vm);
    const { transition } = this.#input;
    const now = { phase: this.phase, ...pick(state, ['counts', 'full', 'skipped', 'paused', 'aborted']), inProgress };
    return transitionProgress(state, { ...now, transition });
  }

  protected async check(): Promise<void> {
    Object.assign(this.#state, await preflightTransition.executeWithOptions(PREFLIGHT, [this.#request()]));
  }

  protected override async tidyUp(): Promise<void> {
    const { operation, transition } = this.#input;
    const vms = { allWithin: transition.scope.namespaces };
    const request = { operation, vms, minVersions: this.#state.minVersions };
    await clearTransitionLabels.executeWithOptions({ summary: 'clear the labels that are left on VMs' }, [request]);
  }

  protected recorded(): Omit<BegunAct, 'vms'> {
    return actOf('restart', this.#input.transition);
  }

  protected outline(): RunOutline {
    return transitionOutline(this.progress);
  }

  protected working(): Working {
    return this.#state.digest === null || isAtWork(this.#state) ? 'Changing' : 'Waiting';
  }

  protected hasFailures(): boolean {
    return this.#state.failed.length > 0;
  }

  protected isTripped(): boolean {
    return mayFail(this.#state, this.#input.transition) < 0 || isFullOf(this.#state.failed);
  }

  /** What every request about the VMs of the transition says. */
  #request(): TransitionRequest {
    return { ...pick(this.#input, ['operation', 'transition']), ...pick(this.#state, ['results', 'minVersions']) };
  }

  protected observe(): Promise<FollowedTransition> {
    const { inProgress, counts, ...state } = this.#state;
    return acting().followTransition.executeWithOptions(awaitDetails(counts), [
      {
        ...this.#request(),
        asOf: this.#input.asOf,
        ...pick(state, [...TALLIED, 'operationVersion', 'digest', 'turn']),
        inProgress: [...inProgress],
        reportMs: this.reportMs(),
      },
    ]);
  }

  protected keep(found: FollowedTransition): void {
    Object.assign(this.#state, pick(found, ['counts', 'skipped', 'full', 'digest']));
    this.#state.turn++;
  }

  /**
   * Acts on everything that was found, one thing after another, since each takes time. The next observation waits for
   * the results.
   */
  protected override async act({ check, patch, unlabel }: FollowedTransition): Promise<void> {
    if (check.length > 0 && this.mayTouch()) await this.#checkTypes(check);
    if (unlabel.length > 0) await this.#clearLabels(unlabel);
    if (patch.length > 0 && this.mayTouch()) await this.#patch(patch);
  }

  async #checkTypes(wanted: FollowedTransition['check']): Promise<void> {
    const { results, minVersions } = await checkMachineTypes.executeWithOptions(CHECK, [
      { ...this.#request(), wanted },
    ]);
    this.#state.results = [...this.#state.results, ...results];
    this.learn(minVersions);
  }

  async #clearLabels(vms: string[]): Promise<void> {
    const request = { operation: this.#input.operation, vms, minVersions: this.#state.minVersions };
    const { kept, minVersions } = await clearTransitionLabels.executeWithOptions(named('clear the label of', vms), [
      request,
    ]);
    for (const one of kept) this.#fail({ ...one, wasAvailable: false, keepsLabel: true });
    this.learn(minVersions);
  }

  async #patch(vms: string[]): Promise<void> {
    const state = this.#state;
    this.touch(vms);
    const request = { ...this.#request(), vms };
    const { outcomes, changes, patched, minVersions } = await patchMachineTypes.executeWithOptions(
      named('change', vms),
      [request],
    );
    state.patched += patched;
    // A VM that is patched again has its old type back: a user's change to it no longer counts.
    state.changed = state.changed.filter((vm) => !vms.includes(vm));
    this.#keepPatched(changes, outcomes);
    this.learn(minVersions);
  }

  protected keepOutcome(outcome: PowerOutcome): void {
    addOutcome(this.#state, outcome);
    if (outcome.end === 'Failed') warn(outcome);
  }

  #keepPatched(changes: readonly TypeChanges[], outcomes: readonly Unpatched[]): void {
    const { changed } = this.#state;
    recordChanges(this.journal, this.#input.transition, changes, outcomes);
    for (const { vm, uid, end, message } of outcomes) {
      if (end === 'Failed') this.#fail({ vm, message, uid, wasAvailable: false });
      else changed.push(vm);
    }
    changed.splice(0, changed.length - MAX_CHANGED_LISTED);
  }

  #fail(failure: FailedVm & NotRetried): void {
    warn(failure);
    addFailure(this.#state.failed, failure);
  }
}

const warn = ({ vm, message }: Pick<PowerOutcome, 'vm' | 'message'>): void =>
  log.warn('the machine type of a VM could not be changed', { vm, message });

const named = (what: string, names: readonly string[]): { summary: string } => ({
  summary: summary(`${what} ${formatNames(names)}`),
});
