import { CancellationScope, continueAsNew, log, proxyActivities } from '@temporalio/workflow';
import type { MachineTypeActivities } from '../../activities/machine-types/machine-types.ts';
import type { TypeChanges, Unpatched } from '../../activities/machine-types/patch-vms.ts';
import type { FollowedTransition } from '../../activities/machine-types/transition-method.ts';
import type { Act, BegunAct } from '../../decisions/history/act.ts';
import { pick } from '../../decisions/lib/json.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { NotRetried } from '../../decisions/machine-types/not-retried.ts';
import { transitionOutline, type TransitionProgress } from '../../decisions/machine-types/transition.ts';
import type { TransitionRunInput } from '../../decisions/operations/run-input.ts';
import { BY_SPEC } from '../../decisions/operations/status.ts';
import type { PowerOutcome } from '../../decisions/power/outcome.ts';
import { addFailure } from '../../decisions/runs/failures.ts';
import type { FailedVm } from '../../decisions/runs/progress.ts';
import { Journal } from '../history/journal.ts';
import { transitionProgress } from '../lib/messages.ts';
import { onQuery } from '../lib/on-signal.ts';
import { actingActivities } from '../lib/queues.ts';
import { runDetails } from '../runs/details.ts';
import { CHECKING, Run } from '../runs/run.ts';
import { awaitDetails, CHECK, PREFLIGHT } from './details.ts';
import { actOf, recordChanges } from './records.ts';
import { begun, isFullOf, changedMeanwhile, isAtWork, KEPT, type TransitionState } from './transition-state.ts';

export interface MachineTypeTransitionInput extends TransitionRunInput {
  /** What a run hands to the next when its history has grown long. */
  carried?: TransitionState;
}

const acting = () => actingActivities<MachineTypeActivities>();
const untilDone = {
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
} as const;
const { preflightTransition } = proxyActivities<MachineTypeActivities>(CHECKING);
// Retried until done: what is impossible comes back as an outcome.
const { checkMachineTypes, patchMachineTypes, patchPoolTemplates, clearTransitionLabels } =
  proxyActivities<MachineTypeActivities>(untilDone);

const MAX_CHANGED_LISTED = 100;

/**
 * Changes the machine type of VMs of any owner, and follows each VM until its VMI has the new type: restarted by
 * drover, within a budget, or by its owner. Keeps no list of VMs: each turn reads from the cluster what is still to be
 * done, a few hundred names at most.
 */
export const machineTypeTransition = (
  input: MachineTypeTransitionInput,
): Promise<TransitionProgress & { acts: Act[] }> =>
  CancellationScope.nonCancellable(() => new TransitionRun(input).carryOut());

type Working = 'Changing' | 'Waiting';

class TransitionRun extends Run<FollowedTransition, Working> {
  readonly #input: MachineTypeTransitionInput;
  readonly #state: TransitionState;

  constructor(input: MachineTypeTransitionInput) {
    const state = input.carried ?? begun();
    super(state, 'Changing', {
      pauses: 'Change and restart no further VM until resume; VMs that are already restarting come back.',
      aborts: 'Change and restart no further VM, and end once VMs that are already restarting are back.',
      journal: new Journal(state.acts),
    });
    this.#input = input;
    this.#state = state;
    onQuery(transitionProgress, 'How far it is, for the status of its operation.', () => this.#progress());
  }

  async carryOut(): Promise<TransitionProgress & { acts: Act[] }> {
    if (this.#input.carried === undefined) {
      const found = await this.preflight(() => preflightTransition.executeWithOptions(PREFLIGHT, [this.#request()]));
      Object.assign(this.#state, found ?? {});
    }
    this.showNow();
    await this.untilOver();
    const { operation, transition } = this.#input;
    const vms = { allWithin: transition.scope.namespaces };
    const request = { operation, vms, minVersions: this.#state.minVersions };
    await clearTransitionLabels.executeWithOptions({ summary: 'clear the labels that are left on VMs' }, [request]);
    this.showEnd();
    return { ...this.#progress(), acts: this.journal.kept };
  }

  #progress(): TransitionProgress {
    const state = this.#state;
    return {
      action: 'MachineType',
      phase: this.phase,
      transition: this.#input.transition,
      ...pick(state, KEPT),
      failures: state.failed.length,
      inProgress: state.inProgress.map(({ vm }) => vm),
      skipped: [...state.skipped, ...changedMeanwhile(state.changed)],
    };
  }

  protected recorded(): Omit<BegunAct, 'vms'> {
    return actOf('restart', this.#input.transition);
  }

  protected details(): string {
    const progress = this.#progress();
    return runDetails(progress, transitionOutline(progress));
  }

  protected working(): Working {
    return isAtWork(this.#state) ? 'Changing' : 'Waiting';
  }

  protected hasFailures(): boolean {
    return this.#state.failed.length > 0;
  }

  protected isTripped(): boolean {
    return this.#mayFail() < 0 || isFullOf(this.#state.failed);
  }

  /** How many more VMs may fail in their restarts that were ready before. */
  #mayFail(): number {
    return this.#input.transition.maxFailures - this.#state.failed.filter(({ wasAvailable }) => wasAvailable).length;
  }

  /** What every request about the VMs of the transition says. */
  #request(): Pick<MachineTypeTransitionInput, 'operation' | 'transition'> &
    Pick<TransitionState, 'results' | 'minVersions'> {
    return { ...pick(this.#input, ['operation', 'transition']), ...pick(this.#state, ['results', 'minVersions']) };
  }

  protected observe(): Promise<FollowedTransition> {
    const { inProgress, failed, counts, ...state } = this.#state;
    return acting().followTransition.executeWithOptions(awaitDetails(counts), [
      {
        ...this.#request(),
        asOf: this.#input.asOf,
        ...pick(state, ['operationVersion', 'maxRestarts', 'digest', 'turn']),
        inProgress: [...inProgress],
        failed: failed.map(({ message: _message, ...one }) => one),
        mayFail: this.#mayFail(),
        mayStart: this.mayTouch(),
        isEnding: this.isEnding(),
        reportMs: this.reportMs(),
      },
    ]);
  }

  protected keep({ counts, skipped, full, digest, whyOver }: FollowedTransition): void {
    if (whyOver !== null)
      this.#state.aborted ??= { by: BY_SPEC, at: new Date(Date.now()).toISOString(), reason: whyOver };
    Object.assign(this.#state, { counts, skipped, full, digest, turn: this.#state.turn + 1 });
  }

  /**
   * Acts on everything that was found, one thing after another, since each takes time. The next observation waits for
   * the results.
   */
  protected override async act({ check, patch, pools, unlabel }: FollowedTransition): Promise<void> {
    if (check.length > 0 && this.mayTouch()) await this.#checkTypes(check);
    if (unlabel.length > 0) await this.#clearLabels(unlabel);
    if (pools.length > 0 && this.mayTouch()) await this.#changePools(pools);
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

  async #changePools(pools: string[]): Promise<void> {
    this.touch(pools);
    const request = { ...this.#request(), pools };
    const { outcomes, changes, minVersions } = await patchPoolTemplates.executeWithOptions(
      named('change the templates of', pools),
      [request],
    );
    this.#keepPatched(changes, outcomes);
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

  protected keepOutcome({ vm, uid, end, message = '', since, wasDown }: PowerOutcome): void {
    if (end === 'Restarted') this.#state.restarted++;
    if (end !== 'Failed') return;
    this.#fail({
      vm,
      message,
      ...(uid !== undefined && { uid }),
      ...(wasDown === true && { wasDown }),
      wasAvailable: since !== undefined && wasDown !== true,
    });
  }

  #keepPatched(changes: readonly TypeChanges[], outcomes: readonly Unpatched[]): void {
    const { changed } = this.#state;
    recordChanges(this.journal, this.#input.transition, changes, outcomes);
    for (const { vm, uid, end, message } of outcomes) {
      if (end === 'Failed') this.#fail({ vm, message, ...(uid !== undefined && { uid }), wasAvailable: false });
      else changed.push(vm);
    }
    changed.splice(0, changed.length - MAX_CHANGED_LISTED);
  }

  #fail(failure: FailedVm & NotRetried): void {
    const { vm, message } = failure;
    log.warn('the machine type of a VM could not be changed', { vm, message });
    addFailure(this.#state.failed, failure);
  }

  protected continueAsNew(): Promise<never> {
    return continueAsNew<typeof machineTypeTransition>({ ...this.#input, carried: this.#state });
  }
}

const named = (what: string, names: readonly string[]): { summary: string } => ({
  summary: summary(`${what} ${formatNames(names)}`),
});
