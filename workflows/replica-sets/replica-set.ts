import { continueAsNew, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Done } from '../../activities/pool/types.ts';
import type { ReplicaSetActivities } from '../../activities/replica-sets/replica-sets.ts';
import type { PlannedSet } from '../../activities/replica-sets/types.ts';
import type { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { summary } from '../../decisions/lib/summary.ts';
import { progressSentences } from '../../decisions/pool/in-progress.ts';
import type { ReplicaSetStep } from '../../decisions/replica-sets/plan.ts';
import { onQuery } from '../handlers.ts';
import { replicaSetProgress, type PoolRef, type ReplicaSetProgress } from '../messages.ts';
import { OwnerRun, type CarriedOwner, type OwnerRequest } from '../owners/owner-run.ts';
import { beginRemoval, inLane, lanes, ON_VMS } from '../owners/steps.ts';
import { replicaSetDetails } from './details.ts';

export interface ReplicaSetInput extends PoolRef {
  /** What a run hands to the next when its history has grown long. */
  carried?: CarriedOwner & { uncertain?: string[] };
}

const { planReplicaSet } = proxyLocalActivities<ReplicaSetActivities>({
  startToCloseTimeout: '60s',
  retry: { initialInterval: '200ms', maximumInterval: '2s', maximumAttempts: 3 },
});
const { makeReplicas, adoptVms } = proxyActivities<ReplicaSetActivities>(ON_VMS);

type Planned = Extract<PlannedSet, { gone: false }>;

/** Keeps the VMs of one replica set at its number, and never above it, for as long as the set exists. */
export const replicaSet = ({ carried, ...ref }: ReplicaSetInput): Promise<void> =>
  new ReplicaSetRun(ref, carried).untilGone();

class ReplicaSetRun extends OwnerRun<Planned> {
  /** Names whose creates were given up: they may still be carried out, so they hold places until a VM has them. */
  #uncertain: Set<string>;
  /** What the plan in progress was told of them. */
  #told: readonly string[] = [];
  #starting: number | undefined;

  constructor(ref: PoolRef, carried: ReplicaSetInput['carried']) {
    super(ref, carried, { owner: 'set', wait: 'VMs become available by the clock' });
    this.#uncertain = new Set(carried?.uncertain);
    onQuery(replicaSetProgress, () => this.#progress());
  }

  #progress(): ReplicaSetProgress {
    const { failureBackoff, inProgress } = this;
    return {
      creating: inProgress.names('creating'),
      deleting: inProgress.names('deleting'),
      doing: progressSentences({ doing: inProgress.reasons(), batches: [], cycles: [], starting: this.#starting }),
      recentErrors: failureBackoff.state.recentErrors,
      retryAt: failureBackoff.isWaiting() ? new Date(failureBackoff.state.retryAt!).toISOString() : null,
    };
  }

  protected override plan(asked: OwnerRequest): Promise<PlannedSet> {
    this.#told = [...this.#uncertain];
    const words = { summary: 'look at the set and its VMs, and plan the next steps' };
    const own = { uncertain: [...this.#told], refused: this.failureBackoff.refused(), now: Date.now() };
    return planReplicaSet.executeWithOptions(words, [{ ...asked, ...own }]);
  }

  protected override reset(): void {
    this.#uncertain.clear();
  }

  protected override note({ phase, counts, uncertain }: Planned): void {
    this.#starting = phase === 'Starting' ? counts.present - counts.ready : 0;
    const left = new Set(uncertain);
    for (const name of this.#told) if (!left.has(name)) this.#uncertain.delete(name);
  }

  protected override beginSteps(planned: Planned): void {
    const leaving = planned.steps.flatMap((step) => (step.kind === 'delete' ? step.vms.map(({ name }) => name) : []));
    for (const step of planned.steps) this.#begin(step, planned, leaving);
  }

  #begin(step: ReplicaSetStep, planned: Planned, leaving: readonly string[]): void {
    const { key, generation } = planned;
    const context = this.stepContext(planned, leaving);
    const words = { summary: summary(step.reason) };
    const { reason } = step;
    switch (step.kind) {
      case 'make':
        for (const names of lanes(step.names)) {
          const onDone = (done: Done | null): void => this.#resolve(names, done);
          const how = { generation, skipSlowStart: this.failureBackoff.hasProven };
          inLane({ kind: 'creating', names, reason, onDone }, context, 'FailedCreate', () =>
            makeReplicas.executeWithOptions(words, [key, names, context.seen, how]),
          );
        }
        return;
      case 'adopt':
        for (const vms of lanes(step.vms)) {
          const names = vms.map(({ name }) => name);
          inLane({ kind: 'creating', names, reason }, context, 'FailedAdopt', () =>
            adoptVms.executeWithOptions(words, [key, vms]),
          );
        }
        return;
      case 'hold':
      case 'let-go':
      case 'delete':
      case 'halt':
      case 'release':
        beginRemoval(step, context);
    }
  }

  /**
   * Notes which names are uncertain after a lane: all, if nobody knows what it has done; if one was refused, all but
   * the refused ones, for a call of another may have been given up before.
   */
  #resolve(names: readonly string[], done: Done | null): void {
    const refused = done?.refused?.names ?? [];
    for (const name of names) {
      // Of a name that was refused, or not tried, nothing new is known.
      if (refused.includes(name) || done?.notWanted.includes(name) === true) continue;
      if (done === null || done.refused !== null) this.#uncertain.add(name);
      else this.#uncertain.delete(name);
    }
  }

  protected override statusOf({ status }: Planned): ReplicaSetStatus | null {
    return status;
  }

  protected override details(planned: PlannedSet): string {
    return replicaSetDetails(planned, this.inProgress.reasons(), this.failureBackoff.state);
  }

  protected override continueAsNew(carried: CarriedOwner): Promise<never> {
    return continueAsNew<typeof replicaSet>({ ...this.ref, carried: { ...carried, uncertain: [...this.#uncertain] } });
  }
}
