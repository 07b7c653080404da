import { log, proxyActivities } from '@temporalio/workflow';
import type { PowerActivities } from '../../activities/power/power.ts';
import type { ChangedPower } from '../../activities/power/request.ts';
import type { Act, BegunAct } from '../../decisions/history/act.ts';
import { pick } from '../../decisions/lib/json.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { PowerRunInput } from '../../decisions/operations/run-input.ts';
import { ACTION_LABELS, type PowerDoing } from '../../decisions/power/action.ts';
import type { PowerOutcome } from '../../decisions/power/outcome.ts';
import {
  addOutcome,
  isTripped,
  newTally,
  powerOutline,
  powerProgress,
  TALLIED,
  type PowerProgress,
  type PowerTally,
} from '../../decisions/power/progress.ts';
import type { FailedVm, RunOutline } from '../../decisions/runs/progress.ts';
import type { Journal } from '../history/journal.ts';
import { actingActivities } from '../lib/queues.ts';
import { newRunState, Run, UNTIL_DONE, type RunState } from '../runs/run.ts';

/** Plain data: each run hands it to the next, within the size that `decisions/power/payload-bytes.ts` measures. */
export interface PowerState extends RunState, PowerTally, Pick<PowerProgress, 'open' | 'skipped' | 'full'> {
  /** For how long no VM has been in progress, and nobody asked for anything, in milliseconds. */
  idledMs: number;
}

/** What is to be done, and how far that is: plain data. */
export interface CarriedPower {
  input: PowerRunInput;
  /** Null if it has not begun. */
  state: PowerState | null;
  /** What was done before. */
  acts?: Act[];
  /** VMs that have failed before the operation begins anew. */
  failed?: FailedVm[];
}

const acting = () => actingActivities<PowerActivities>();
const { preflightPatch } = proxyActivities<PowerActivities>(UNTIL_DONE);
const PREFLIGHT = { summary: 'try each kind of change in a dry run' };

/**
 * Starts, stops, restarts, migrates or changes VMs of any owner, a few at a time, and each at most once, whichever
 * process dies: the next only when the last is seen to be ready, or to have stopped. Restarts keep within the budgets
 * of the pools that own the VMs, too. What is to be changed is tried in dry runs before.
 */
export class PowerRun extends Run<ChangedPower, PowerDoing> {
  readonly #input: PowerRunInput;
  readonly #state: PowerState;

  constructor({ input, state: carried, failed }: CarriedPower, journal: Journal) {
    const state = carried ?? begun(input, failed);
    super(state, ACTION_LABELS[input.action].doing, { journal, isNew: carried === null });
    this.#input = input;
    this.#state = state;
    this.touch(input.chosen.namespaces?.map((namespace) => `${namespace}/`) ?? null);
  }

  get progress(): PowerProgress {
    const state = this.#state;
    const inProgress = state.inProgress.map(({ vm }) => vm);
    const now = { phase: this.phase, ...pick(state, ['open', 'skipped', 'full', 'paused', 'aborted']), inProgress };
    return powerProgress(this.#input, this.#input.chosen.count, state, now);
  }

  protected async check(): Promise<void> {
    const { action, operation } = this.#input;
    if (action === 'Patch')
      await preflightPatch.executeWithOptions(PREFLIGHT, [{ operation, minVersions: this.#state.minVersions }]);
  }

  override resume(): void {
    super.resume();
    this.#state.idledMs = 0;
  }

  protected recorded(): Omit<BegunAct, 'vms'> {
    const { action, requestedBy, reason } = this.#input;
    const { verb } = ACTION_LABELS[action];
    return { action: verb, requestedBy, reason: reason === null ? null : `${verb}: ${reason}` };
  }

  protected outline(): RunOutline {
    return powerOutline(this.progress);
  }

  protected working(): PowerDoing {
    return ACTION_LABELS[this.#input.action].doing;
  }

  protected hasFailures(): boolean {
    return this.#state.failures > 0;
  }

  protected isTripped(): boolean {
    return isTripped(this.#state, this.#input.maxFailures);
  }

  protected override isDone({ open }: ChangedPower): boolean {
    return open === 0;
  }

  protected observe(): Promise<ChangedPower> {
    const input = this.#input;
    const { inProgress, ...state } = this.#state;
    const doing = `${ACTION_LABELS[input.action].verb} VMs`;
    const names = inProgress.map(({ vm }) => vm);
    const title = names.length === 0 ? doing : `${doing}; wait for ${formatNames(names)}`;
    return acting().changePower.executeWithOptions({ summary: summary(title) }, [
      {
        ...pick(input, ['operation', 'action', 'deadlineMs', 'requestedBy', 'reason']),
        ...pick(state, [...TALLIED, 'minVersions', 'operationVersion', 'idledMs', 'digest']),
        inProgress: [...inProgress],
        reportMs: this.reportMs(),
      },
    ]);
  }

  protected keep(found: ChangedPower): void {
    Object.assign(this.#state, pick(found, ['open', 'skipped', 'full', 'digest', 'idledMs']));
  }

  protected keepOutcome(outcome: PowerOutcome): void {
    const { action } = this.#input;
    const { vm, end, message } = outcome;
    addOutcome(this.#state, action, outcome);
    if (end === 'Failed') log.warn(`could not ${ACTION_LABELS[action].verb} a VM`, { vm, message });
  }
}

const begun = ({ chosen, ended, asOf }: PowerRunInput, failed?: FailedVm[]): PowerState => ({
  ...newRunState(),
  minVersions: asOf,
  ...newTally(failed, ended),
  open: chosen.count,
  skipped: [],
  full: [],
  idledMs: 0,
});
