import { continueAsNew, log, proxyActivities } from '@temporalio/workflow';
import type { ChosenByNamespace } from '../../activities/restarts/chosen-vmis.ts';
import type { RestartActivities, RestartObservation } from '../../activities/restarts/restarts.ts';
import { pick } from '../../decisions/lib/json.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { RestartInProgress, RestartOutcome } from '../../decisions/restarts/plan.ts';
import { noteFailure } from '../../decisions/restarts/size.ts';
import { onQuery } from '../handlers.ts';
import { restartProgress, type RestartProgress } from '../messages.ts';
import { waitingActivities } from '../queues.ts';
import { steered } from '../runs/run-controls.ts';
import { Run, type RunState } from '../runs/run.ts';
import { restartDetails } from './details.ts';

export interface RestartVmsInput {
  /** UIDs of the VMIs to restart: a VM that has another VMI by then is left as it is. */
  chosen: ChosenByNamespace;
  /** How many of the chosen VMs may be unready at once, whatever the cause. */
  maxUnavailable: number;
  /** More failures than this end the restart. */
  maxFailures: number;
  /**
   * Milliseconds that a VM may take to be ready again, and that the run waits at the end for VMs that can't be
   * restarted now.
   */
  deadlineMs: number;
  askedBy: string;
  reason: string | null;
  /** What a run hands to the next when its history has grown long. */
  carried?: RestartState;
}

/** Plain data: each run hands it to the next, within the size that `decisions/restarts/size.ts` measures. */
export interface RestartState
  extends RunState, Pick<RestartProgress, 'restarted' | 'failed' | 'open' | 'skipped' | 'full'> {
  /** When a VM was last restarted, or a person asked for something; milliseconds since the epoch. */
  quietSince: number;
}

const awaiting = () => waitingActivities<RestartActivities>('10s');
// Retried until done: what is impossible comes back as an outcome.
const { beginRestarts } = proxyActivities<RestartActivities>({
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

/**
 * Restarts VMs of any owner, within a budget of its own and the budgets of the pools that own them: each VMI at most
 * once, whichever process dies, and the next only when the last is seen to be ready again.
 *
 * Each turn waits until there is something to do, records which VMs it takes, and only then restarts them.
 */
export const restartVms = (input: RestartVmsInput): Promise<RestartProgress> =>
  steered(() => new RestartRun(input).carryOut());

class RestartRun extends Run<RestartInProgress, RestartObservation, 'Restarting'> {
  readonly #input: RestartVmsInput;
  readonly #state: RestartState;
  readonly #chosen: number;

  constructor(input: RestartVmsInput) {
    const state = input.carried ?? begun();
    super(state, 'Restarting', {
      pauses: 'Restart no further VM until resume; those that restart already come back.',
      aborts: 'Restart no further VM, and end once those that restart already are back.',
    });
    this.#input = input;
    this.#state = state;
    this.#chosen = Object.values(input.chosen).reduce((sum, vmis) => sum + Object.keys(vmis).length, 0);
    onQuery(restartProgress, () => this.#progress());
  }

  async carryOut(): Promise<RestartProgress> {
    this.showNow();
    await this.untilOver();
    this.showEnd();
    return this.#progress();
  }

  #progress(): RestartProgress {
    return {
      phase: this.phase,
      chosen: this.#chosen,
      ...pick(this.#input, ['maxUnavailable', 'maxFailures', 'askedBy', 'reason']),
      ...pick(this.#state, ['restarted', 'failed', 'open', 'skipped', 'full', 'paused', 'aborted']),
      inProgress: this.#state.inProgress.map(({ vm }) => vm),
    };
  }

  protected details(): string {
    return restartDetails(this.#progress());
  }

  protected working(): 'Restarting' {
    return 'Restarting';
  }

  protected hasFailures(): boolean {
    return this.#state.failed.length > 0;
  }

  protected isTripped(): boolean {
    return this.#state.failed.filter(({ wasDown }) => !wasDown).length > this.#input.maxFailures;
  }

  protected override isDone({ open }: RestartObservation): boolean {
    return open === 0;
  }

  protected override onAsked(): void {
    this.#state.quietSince = Date.now();
    super.onAsked();
  }

  protected observe(): Promise<RestartObservation> {
    const state = this.#state;
    return awaiting().awaitRestarts({
      ...pick(this.#input, ['maxUnavailable', 'deadlineMs']),
      ...pick(state, ['seen', 'notBefore', 'quietSince', 'told']),
      inProgress: [...state.inProgress],
      failed: state.failed.map(({ vm }) => vm),
      takes: this.mayTouch(),
    });
  }

  protected keep({ settled, open, skipped, full, told }: RestartObservation): void {
    Object.assign(this.#state, { open, skipped, full, told });
    if (settled.length > 0) this.#state.quietSince = Date.now();
  }

  protected keepOutcome({ vm, end, why = '' }: RestartOutcome, held: RestartInProgress | undefined): void {
    if (end === 'Restarted') this.#state.restarted.push(vm);
    if (end !== 'Failed') return;
    noteFailure(this.#state.failed, { vm, why, wasDown: held?.wasDown ?? false });
    log.warn('a VM could not be restarted', { vm, why });
  }

  protected async act({ take }: RestartObservation): Promise<void> {
    if (take.length === 0 || !this.mayTouch()) return;
    const state = this.#state;
    const takenAt = Date.now();
    state.open -= take.length;
    const deferred = await this.restart(
      take.map((vm) => ({ ...vm, takenAt })),
      (vms) =>
        beginRestarts.executeWithOptions({ summary: summary(`restart ${formatNames(vms)}`) }, [
          {
            vms,
            ...pick(this.#input, ['maxUnavailable', 'askedBy', 'reason']),
            seen: state.seen,
            inProgress: [...state.inProgress],
          },
        ]),
    );
    state.open += deferred;
    if (state.deferrals === 0) state.quietSince = Date.now();
  }

  protected continueAsNew(): Promise<never> {
    return continueAsNew<typeof restartVms>({ ...this.#input, carried: this.#state });
  }
}

const begun = (): RestartState => ({
  inProgress: [],
  restarted: [],
  failed: [],
  open: 0,
  skipped: [],
  full: [],
  paused: null,
  aborted: null,
  told: null,
  quietSince: Date.now(),
  notBefore: 0,
  deferrals: 0,
  seen: {},
});
