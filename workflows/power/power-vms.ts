import { continueAsNew, log, proxyActivities } from '@temporalio/workflow';
import type { ChosenByNamespace } from '../../activities/power/chosen-uids.ts';
import type { PowerActivities, PowerObservation } from '../../activities/power/power.ts';
import type { Act, BegunAct } from '../../decisions/history/act.ts';
import { pick } from '../../decisions/lib/json.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { summary } from '../../decisions/lib/summary.ts';
import { ACTION_LABELS, type PowerAction, type PowerDoing } from '../../decisions/power/action.ts';
import type { PowerOutcome, VmInProgress } from '../../decisions/power/outcome.ts';
import { isTripped, powerOutline, type PowerProgress } from '../../decisions/power/progress.ts';
import { bytesOfRecords, noteFailure } from '../../decisions/power/size.ts';
import { onQuery } from '../handlers.ts';
import { Journal } from '../history/journal.ts';
import { powerProgress } from '../messages.ts';
import { waitingActivities } from '../queues.ts';
import { runDetails } from '../runs/details.ts';
import { withControls } from '../runs/run-controls.ts';
import { Run, type RunState } from '../runs/run.ts';

export interface PowerVmsInput {
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

/** Plain data: each run hands it to the next, within the size that `decisions/power/size.ts` measures. */
export interface PowerState extends RunState, Pick<PowerProgress, 'done' | 'failed' | 'open' | 'skipped' | 'full'> {
  /** VMs that somebody has deleted, stopped or started while they were in progress. */
  gone: string[];
  /** When a VM was last acted on, or a person asked for something; milliseconds since the epoch. */
  lastProgressAt: number;
}

const awaiting = () => waitingActivities<PowerActivities>('10s');
// Retried until done: what is impossible comes back as an outcome.
const { changePower } = proxyActivities<PowerActivities>({
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

/**
 * Starts, stops or restarts VMs of any owner, a few at a time, and each at most once, whichever process dies: the next
 * only when the last is seen to be ready, or to have stopped. Restarts keep within the budgets of the pools that own
 * the VMs, too.
 *
 * Each turn waits until there is something to do, records which VMs it takes, and only then acts on them.
 */
export const powerVms = (input: PowerVmsInput): Promise<PowerProgress & { acts: Act[] }> =>
  withControls(() => new PowerRun(input).carryOut());

class PowerRun extends Run<VmInProgress, PowerObservation, PowerDoing> {
  readonly #input: PowerVmsInput;
  readonly #state: PowerState;
  readonly #chosen: number;

  constructor(input: PowerVmsInput) {
    const state = input.carried ?? begun();
    const { verb, doing } = ACTION_LABELS[input.action];
    super(state, doing, {
      pauses: `Touch no further VM until resume; those that ${verb} already are followed to their end.`,
      aborts: `Touch no further VM, and end once those that ${verb} already are done.`,
      journal: new Journal(state.acts, bytesOfRecords(input.chosen)),
    });
    this.#input = input;
    this.#state = state;
    this.#chosen = Object.values(input.chosen).reduce((sum, vmis) => sum + Object.keys(vmis).length, 0);
    onQuery(powerProgress, 'How far it is, as `drover vm runs status -o json` prints it.', () => this.#progress());
  }

  async carryOut(): Promise<PowerProgress & { acts: Act[] }> {
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
      ...pick(this.#state, ['done', 'failed', 'open', 'skipped', 'full', 'paused', 'aborted']),
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

  protected override isDone({ open }: PowerObservation): boolean {
    return open === 0;
  }

  protected override onAsked(): void {
    this.#state.lastProgressAt = Date.now();
    super.onAsked();
  }

  protected observe(): Promise<PowerObservation> {
    const state = this.#state;
    const names = state.inProgress.map(({ vm }) => vm);
    const words = names.length === 0 ? 'look for VMs whose turn it is' : `wait for ${formatNames(names)}`;
    return awaiting().awaitPower.executeWithOptions({ summary: summary(words) }, [
      {
        ...pick(this.#input, ['action', 'atOnce', 'deadlineMs']),
        ...pick(state, ['minVersions', 'notBefore', 'lastProgressAt', 'digest']),
        inProgress: [...state.inProgress],
        excluded: this.#spent(),
        takes: this.mayTouch(),
      },
    ]);
  }

  /**
   * VMs that are not taken again. A restarted VM has another VMI, which says enough; of a VM that was started, or
   * stopped, and is not any more, only the run knows that somebody else has done that since.
   */
  #spent(): string[] {
    const { done, failed, gone } = this.#state;
    return [...failed.map(({ vm }) => vm), ...(this.#input.action === 'Restart' ? [] : [...done, ...gone])];
  }

  protected keep({ settled, open, skipped, full, digest }: PowerObservation): void {
    Object.assign(this.#state, { open, skipped, full, digest });
    if (settled.length > 0) this.#state.lastProgressAt = Date.now();
  }

  protected keepOutcome({ vm, end, why = '' }: PowerOutcome, held: VmInProgress | undefined): void {
    const { action } = this.#input;
    if (end === ACTION_LABELS[action].done) this.#state.done.push(vm);
    if (end === 'Gone') this.#state.gone.push(vm);
    if (end !== 'Failed') return;
    noteFailure(this.#state.failed, { vm, why, wasDown: held?.wasDown ?? false });
    log.warn(`could not ${ACTION_LABELS[action].verb} a VM`, { vm, why });
  }

  protected async act({ take }: PowerObservation): Promise<void> {
    if (take.length === 0 || !this.mayTouch()) return;
    const state = this.#state;
    const takenAt = Date.now();
    state.open -= take.length;
    const deferred = await this.begin(
      take.map((vm) => ({ ...vm, takenAt })),
      (vms) =>
        changePower.executeWithOptions(
          { summary: summary(`${ACTION_LABELS[this.#input.action].verb} ${formatNames(vms)}`) },
          [
            {
              vms,
              ...pick(this.#input, ['action', 'atOnce', 'requestedBy', 'reason']),
              minVersions: state.minVersions,
              inProgress: [...state.inProgress],
            },
          ],
        ),
    );
    state.open += deferred;
    if (state.deferrals === 0) state.lastProgressAt = Date.now();
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
  paused: null,
  aborted: null,
  digest: null,
  lastProgressAt: Date.now(),
  notBefore: 0,
  deferrals: 0,
  minVersions: {},
  namespaces: [],
  acts: [],
});
