import { condition, setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { ActedOn } from '../../activities/power/request.ts';
import type { Act, BegunAct } from '../../decisions/history/act.ts';
import { backoffMs } from '../../decisions/lib/backoff.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { PowerOutcome } from '../../decisions/power/outcome.ts';
import { withNamespaces } from '../../decisions/runs/namespaces.ts';
import type { ControlledRun } from '../../decisions/runs/user-request.ts';
import type { Journal } from '../history/journal.ts';
import { DroverNamespaces, DroverPhase } from '../lib/search-attributes.ts';
import { RunControls } from './run-controls.ts';

/** What every run hands to the next when its history has grown long: plain data. */
export interface RunState<Vm extends ActedOn = ActedOn> extends ControlledRun {
  inProgress: Vm[];
  /** Digest of what the last observation reported. */
  digest: string | null;
  /** No VM is taken before this time, in milliseconds since the epoch. */
  notBefore: number;
  /** Turns in a row in which every VM taken had to be given back. */
  deferrals: number;
  /** Observations are of caches that are at least this new. */
  minVersions: ResourceVersions;
  /** Namespaces in which the run has touched something; null if they are too many to list. */
  namespaces: string[] | null;
  acts: Act[];
}

/** What an activity has found in the cluster. */
interface Observation {
  /** VMs that were in progress, and are not any more. */
  settled: PowerOutcome[];
  /** Whether nothing is left to do, or to wait for. */
  isOver: boolean;
  minVersions: ResourceVersions;
}

/** `Failed`: VMs have failed; if they were too many, the others were left as they are. */
type Phase<Working extends string> = Working | 'Paused' | 'Complete' | 'Failed' | 'Aborted';

/**
 * A run that a person has started, and may pause, resume and abort: it acts on VMs, a few at a time. Each turn waits
 * until there is something to do, records which VMs it takes, and only then acts. `Working`: its phases while it is
 * neither paused nor over.
 */
export abstract class Run<Vm extends ActedOn, Found extends Observation, Working extends string> {
  protected readonly controls: RunControls;
  protected phase: Phase<Working>;
  protected readonly journal: Journal;
  readonly #state: RunState<Vm>;

  constructor(
    state: RunState<Vm>,
    phase: Working,
    { journal, ...meaning }: { pauses: string; aborts: string; journal: Journal },
  ) {
    this.#state = state;
    this.journal = journal;
    this.phase = phase;
    this.controls = new RunControls(state, { ...meaning, onAsked: () => this.onAsked() });
  }

  /** The phase while the run is neither paused nor over. */
  protected abstract working(): Working;

  /** What is done to each VM, for `drover history`. */
  protected abstract recorded(): Omit<BegunAct, 'vms'>;

  /** Markdown for Temporal's Web UI. */
  protected abstract details(): string;

  /** Waits until there is something to do. Changes nothing. */
  protected abstract observe(): Promise<Found>;

  /** Keeps what was found, for reports. */
  protected abstract keep(found: Found): void;

  protected abstract act(found: Found): Promise<void>;

  /** Keeps what has become of a VM; `held` is absent if the VM was not in progress. */
  protected abstract keepOutcome(outcome: PowerOutcome, held: Vm | undefined): void;

  protected abstract hasFailures(): boolean;

  /** Whether more has failed than the person allowed. */
  protected abstract isTripped(): boolean;

  protected abstract continueAsNew(): Promise<never>;

  /** Whether the run, which is over but for its pause, need not wait for the end of that. */
  protected isDone(_found: Found): boolean {
    return false;
  }

  protected onAsked(): void {
    this.showNow();
  }

  /** Whether the run may touch further VMs. */
  protected mayTouch(): boolean {
    return this.#state.paused === null && !this.isEnding();
  }

  protected isEnding(): boolean {
    return this.#state.aborted !== null || this.isTripped();
  }

  protected async untilOver(): Promise<void> {
    for (;;) {
      // Nothing is in flight here. What an abandoned wait has found is found again.
      if (workflowInfo().continueAsNewSuggested) {
        this.#state.acts = this.journal.kept;
        await this.continueAsNew();
      }
      const found = await this.controls.look(() => this.observe());
      if (found === null) continue;
      this.keep(found);
      this.#end(found.settled, found.minVersions);
      if (!found.isOver) await this.act(found);
      else if (this.#state.paused === null || this.isEnding() || this.isDone(found)) return;
      else await this.#untilResumed();
      this.showNow();
    }
  }

  /** Acts on VMs through `act`. Returns how many VMs `act` gave back untouched. */
  protected async begin(
    taken: Vm[],
    act: (vms: string[]) => Promise<{ outcomes: PowerOutcome[]; minVersions: ResourceVersions }>,
  ): Promise<number> {
    const state = this.#state;
    const vms = taken.map(({ vm }) => vm);
    this.touch(vms);
    state.inProgress.push(...taken);
    this.journal.begin({ ...this.recorded(), vms });
    this.showNow();
    const { outcomes, minVersions } = await act(vms);
    this.#end(outcomes, minVersions);
    const deferred = outcomes.filter(({ end }) => end === 'Deferred').length;
    state.deferrals = deferred === taken.length ? state.deferrals + 1 : 0;
    if (state.deferrals > 0) state.notBefore = Date.now() + backoffMs(state.deferrals);
    return deferred;
  }

  /** Notes where the run is about to act: `drover history` reads the histories of no others. */
  protected touch(keys: readonly string[]): void {
    const state = this.#state;
    const namespaces = withNamespaces(state.namespaces, keys);
    if (namespaces === state.namespaces) return;
    state.namespaces = namespaces;
    upsertSearchAttributes([{ key: DroverNamespaces, value: namespaces }]);
  }

  protected learn(minVersions: ResourceVersions): void {
    this.#state.minVersions = maxVersions(this.#state.minVersions, minVersions);
  }

  protected show(phase: Phase<Working>): void {
    if (phase !== this.phase) upsertSearchAttributes([{ key: DroverPhase, value: phase }]);
    this.phase = phase;
    setCurrentDetails(this.details());
  }

  protected showNow(): void {
    this.show(this.#state.paused === null ? this.working() : 'Paused');
  }

  protected showEnd(): void {
    const end = this.hasFailures() ? 'Failed' : 'Complete';
    this.show(this.#state.aborted === null ? end : 'Aborted');
  }

  #untilResumed(): Promise<void> {
    const state = this.#state;
    return condition(() => state.paused === null || state.aborted !== null || workflowInfo().continueAsNewSuggested);
  }

  #end(outcomes: readonly PowerOutcome[], minVersions: ResourceVersions): void {
    this.journal.endEach({ action: this.recorded().action }, outcomes);
    const held = new Map(this.#state.inProgress.map((one) => [one.vm, one]));
    for (const outcome of outcomes) {
      this.keepOutcome(outcome, held.get(outcome.vm));
      held.delete(outcome.vm);
    }
    this.#state.inProgress = [...held.values()];
    this.learn(minVersions);
  }
}
