import { CancellationScope, continueAsNew, log, proxyActivities } from '@temporalio/workflow';
import type { ChosenByNamespace } from '../../activities/power/chosen-uids.ts';
import type { PowerActivities } from '../../activities/power/power.ts';
import type { ChangedPower } from '../../activities/power/request.ts';
import type { Act, BegunAct } from '../../decisions/history/act.ts';
import { pick } from '../../decisions/lib/json.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { OperationRef } from '../../decisions/operations/ref.ts';
import { ACTION_LABELS, type PowerAction, type PowerDoing } from '../../decisions/power/action.ts';
import type { PowerOutcome } from '../../decisions/power/outcome.ts';
import { bytesOfRecords } from '../../decisions/power/payload-bytes.ts';
import { isTripped, powerOutline, type PowerProgress } from '../../decisions/power/progress.ts';
import { addFailure } from '../../decisions/runs/failures.ts';
import { withSkipped, type Skipped } from '../../decisions/runs/skipped.ts';
import { Journal } from '../history/journal.ts';
import { powerProgress } from '../lib/messages.ts';
import { onQuery } from '../lib/on-signal.ts';
import { actingActivities } from '../lib/queues.ts';
import { runDetails } from '../runs/details.ts';
import { CHECKING, Run, type RunState } from '../runs/run.ts';

export interface PowerVmsInput {
  /** What the VMs are acted on for: the activities go by it, and by nothing that it does not say. */
  operation: OperationRef;
  action: PowerAction;
  /** UIDs of the VMIs to restart, or of the VMs to start or stop: others of their names are left as they are. */
  chosen: ChosenByNamespace;
  /**
   * How many VMs may be starting or stopping at once; of a restart, how many of the chosen may be unready at once,
   * whatever the cause.
   */
  atOnce: number;
  /** More failures than this end the run. */
  maxFailures: number;
  /**
   * Milliseconds that a VM may take to be ready or to stop, and that the run waits at the end for VMs that can't be
   * touched now.
   */
  deadlineMs: number;
  requestedBy: string;
  reason: string | null;
  /** What a run hands to the next when its history has grown long. */
  carried?: PowerState;
}

/** Plain data: each run hands it to the next, within the size that `decisions/power/payload-bytes.ts` measures. */
interface PowerState extends RunState, Pick<PowerProgress, 'done' | 'failed' | 'open' | 'skipped' | 'full' | 'needs'> {
  /** VMs that are left as they are, or in part, for what was seen when their turn came. */
  excluded: Skipped[];
  /** VMs that a user has deleted, stopped or started while they were in progress, and others that are left. */
  gone: string[];
  /** For how long no VM has been in progress, and nobody asked for anything, in milliseconds. */
  idledMs: number;
}

const acting = () => actingActivities<PowerActivities>();
const { preflightPatch } = proxyActivities<PowerActivities>(CHECKING);
const PREFLIGHT = { summary: 'try each kind of change in a dry run' };

/**
 * Starts, stops, restarts, migrates or changes VMs of any owner, a few at a time, and each at most once, whichever
 * process dies: the next only when the last is seen to be ready, or to have stopped. Restarts keep within the budgets
 * of the pools that own the VMs, too.
 *
 * One activity acts on the VMs and follows them, and returns when there is something to tell. What is to be changed is
 * tried in dry runs before.
 */
export const powerVms = (input: PowerVmsInput): Promise<PowerProgress & { acts: Act[] }> =>
  CancellationScope.nonCancellable(() => new PowerRun(input).carryOut());

class PowerRun extends Run<ChangedPower, PowerDoing> {
  readonly #input: PowerVmsInput;
  readonly #state: PowerState;
  readonly #chosen: number;

  constructor(input: PowerVmsInput) {
    const state = input.carried ?? begun();
    const { verb, doing } = ACTION_LABELS[input.action];
    super(state, doing, {
      pauses: `Touch no further VM until resume; VMs that already ${verb} are followed to their end.`,
      aborts: `Touch no further VM, and end once VMs that already ${verb} are done.`,
      journal: new Journal(state.acts, bytesOfRecords(input.chosen)),
    });
    this.#input = input;
    this.#state = state;
    this.#chosen = Object.values(input.chosen).reduce((sum, vmis) => sum + Object.keys(vmis).length, 0);
    onQuery(powerProgress, 'How far it is, as `drover vm runs status -o json` prints it.', () => this.#progress());
  }

  async carryOut(): Promise<PowerProgress & { acts: Act[] }> {
    const { action, operation, carried } = this.#input;
    this.touch(Object.keys(this.#input.chosen).map((namespace) => `${namespace}/`));
    if (action === 'Patch' && carried === undefined)
      await this.preflight(() => preflightPatch.executeWithOptions(PREFLIGHT, [{ operation }]));
    this.showNow();
    await this.untilOver();
    this.showEnd();
    return { ...this.#progress(), acts: this.journal.kept };
  }

  #progress(): PowerProgress {
    return {
      phase: this.phase,
      chosen: this.#chosen,
      ...pick(this.#input, ['action', 'atOnce', 'maxFailures', 'requestedBy', 'reason']),
      ...pick(this.#state, ['done', 'failed', 'open', 'full', 'needs', 'paused', 'aborted']),
      skipped: [...this.#state.skipped, ...this.#state.excluded],
      inProgress: this.#state.inProgress.map(({ vm }) => vm),
    };
  }

  protected recorded(): Omit<BegunAct, 'vms'> {
    const { action, requestedBy, reason } = this.#input;
    const { verb } = ACTION_LABELS[action];
    return { action: verb, requestedBy, reason: reason === null ? null : `${verb}: ${reason}` };
  }

  protected details(): string {
    const progress = this.#progress();
    return runDetails(progress, powerOutline(progress));
  }

  protected working(): PowerDoing {
    return ACTION_LABELS[this.#input.action].doing;
  }

  protected hasFailures(): boolean {
    return this.#state.failed.length > 0;
  }

  protected isTripped(): boolean {
    return isTripped(this.#state.failed, this.#input.maxFailures);
  }

  protected override isDone({ open }: ChangedPower): boolean {
    return open === 0;
  }

  protected override onRequest(): void {
    Object.assign(this.#state, { idledMs: 0, digest: null });
    super.onRequest();
  }

  protected observe(): Promise<ChangedPower> {
    const input = this.#input;
    const { inProgress, done, gone, failed, digest, ...state } = this.#state;
    const doing = `${ACTION_LABELS[input.action].verb} VMs`;
    const names = inProgress.map(({ vm }) => vm);
    const title = names.length === 0 ? doing : `${doing}; wait for ${formatNames(names)}`;
    return acting().changePower.executeWithOptions({ summary: summary(title) }, [
      {
        ...pick(input, ['operation', 'action', 'deadlineMs', 'requestedBy', 'reason']),
        ...pick(state, ['minVersions', 'operationVersion', 'idledMs']),
        inProgress: [...inProgress],
        ended: [...done, ...gone, ...failed.map(({ vm }) => vm)],
        mayStart: this.mayTouch(),
        failures: failed.filter(({ wasDown }) => wasDown !== true).length,
        reportMs: this.reportMs(),
        digest,
      },
    ]);
  }

  protected keep({ open, skipped, full, digest, idledMs }: ChangedPower): void {
    Object.assign(this.#state, { open, skipped, full, digest, idledMs });
  }

  protected keepOutcome({ vm, end, message = '', wasDown, need }: PowerOutcome): void {
    const { action } = this.#input;
    const { done, gone, needs } = this.#state;
    if (end === ACTION_LABELS[action].done) done.push(vm);
    if (end === ACTION_LABELS[action].done && need !== undefined) needs[need] = (needs[need] ?? 0) + 1;
    if (end === 'Gone' || end === 'Left') gone.push(vm);
    if (end === 'Left') this.#state.excluded = withSkipped(this.#state.excluded, vm, message);
    if (end !== 'Failed') return;
    addFailure(this.#state.failed, { vm, message, ...(wasDown === true && { wasDown }) });
    log.warn(`could not ${ACTION_LABELS[action].verb} a VM`, { vm, message });
  }

  protected continueAsNew(): Promise<never> {
    return continueAsNew<typeof powerVms>({ ...this.#input, carried: this.#state });
  }
}

const begun = (): PowerState => ({
  inProgress: [],
  done: [],
  failed: [],
  gone: [],
  open: 0,
  skipped: [],
  full: [],
  needs: {},
  excluded: [],
  paused: null,
  aborted: null,
  digest: null,
  idledMs: 0,
  watchedSince: Date.now(),
  minVersions: {},
  namespaces: [],
  acts: [],
});
