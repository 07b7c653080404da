import { ActivityFailure, isCancellation, log, proxyActivities } from '@temporalio/workflow';
import type { EvacuationActivities } from '../../activities/drain/evacuate.ts';
import type { PoolKey } from '../../activities/owners/owner-key.ts';
import type { PlanRequest } from '../../activities/owners/plan-request.ts';
import { refusalsAfter, type NotMoved, type RefusedEvacuation } from '../../decisions/drain/refusals.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { PoolStep } from '../../decisions/owners/steps.ts';
import type { Journal } from '../history/journal.ts';
import type { InFlight } from '../owners/in-flight.ts';
import { ON_VMS } from '../owners/steps.ts';

const { evacuateVms } = proxyActivities<EvacuationActivities>(ON_VMS);

interface EvacuationsOptions {
  /** What a run hands to the next. */
  refusals: readonly RefusedEvacuation[] | undefined;
  inProgress: InFlight;
  journal: Journal;
  /** Called when the pool must be looked at again, with the resource versions that the look must have seen. */
  onChange: (minVersions?: ResourceVersions) => void;
}

/** What a pool's workflow does to move VMs off nodes that are drained, and what was refused. */
export class Evacuations {
  refusals: RefusedEvacuation[];
  readonly #options: EvacuationsOptions;

  constructor(options: EvacuationsOptions) {
    this.#options = options;
    this.refusals = [...(options.refusals ?? [])];
  }

  /** Returns what a plan needs to know. */
  request(): Pick<PlanRequest, 'refusals'> {
    return this.refusals.length === 0 ? {} : { refusals: this.refusals };
  }

  /** Forgets what was refused of the pool of that name that was there before. */
  reset(): void {
    this.refusals = [];
  }

  begin(key: PoolKey, { vms, reason }: PoolStep & { kind: 'evacuate' }, known: ResourceVersions): void {
    const { inProgress, journal, onChange } = this.#options;
    const names = vms.map(({ name }) => name);
    let minVersions: ResourceVersions = {};
    journal.begin({ action: 'evacuate', vms: names, reason });
    const run = inProgress.run({ kind: 'evacuating', names, reason }, async () => {
      try {
        const done = await evacuateVms.executeWithOptions({ summary: summary(reason) }, [key, vms, known]);
        minVersions = done.minVersions;
        this.#recordOutcome(names, done.notMoved);
      } catch (error) {
        if (isCancellation(error)) throw error;
        const { message } = error instanceof ActivityFailure ? (error.cause ?? error) : (error as Error);
        log.warn('VMs could not be moved off their nodes', { reason, message });
        this.#recordOutcome(
          names,
          vms.map(({ name, uid }) => ({ vm: name, uid, reason: 'Refused' as const, message })),
        );
      }
    });
    void run.then(() => onChange(minVersions));
  }

  #recordOutcome(tried: readonly string[], notMoved: readonly NotMoved[]): void {
    const { journal } = this.#options;
    for (const { vm, reason, message } of notMoved)
      journal.end({ action: 'evacuate', vms: [vm] }, reason === 'Refused' ? { end: reason, message } : null);
    journal.end({ action: 'evacuate', vms: tried }, { end: 'Done' });
    this.refusals = refusalsAfter(this.refusals, { tried, notMoved }, Date.now());
  }
}
