import {
  ActivityCancellationType,
  CancellationScope,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  proxyActivities,
  setCurrentDetails,
  sleep,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { AwaitRemovalActivities } from '../../activities/healing/await-removal.ts';
import type { HealActivities } from '../../activities/healing/heal-vm.ts';
import type { PoolKey } from '../../activities/owners/owner-key.ts';
import type { AttemptEnd, AttemptId, PlannedAttempt, Removed } from '../../decisions/healing/attempt.ts';
import { healingBackoffMs } from '../../decisions/healing/backoff.ts';
import { escapeMarkdown } from '../../decisions/lib/markdown.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import { attemptEnded, attemptWaiting, poolIdOf, type PoolRef } from '../lib/messages.ts';
import { waitingActivities } from '../lib/queues.ts';
import { DroverPhase } from '../lib/search-attributes.ts';

export interface HealVmInput {
  ref: PoolRef;
  key: PoolKey;
  attempt: Omit<PlannedAttempt, 'isAgain'>;
}

const { removeUnhealthyVm } = proxyActivities<HealActivities>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: '10s',
  // Retried until done: the attempt can't continue without it.
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
  // The pool must not touch the VM before it is certain that the attempt does not.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});
const awaiting = () => waitingActivities<AwaitRemovalActivities>('20s');

/**
 * One attempt to heal a VM: removes the unhealthy VM, and waits out the delay before the pool may recreate it. Tells
 * its pool's workflow how it ends, as its last act: the pool judges the new VM, and begins the next attempt.
 */
export const healVm = (input: HealVmInput): Promise<AttemptEnd> => new Attempt(input).run();

class Attempt {
  readonly #in: HealVmInput;
  readonly #id: AttemptId;
  readonly #past: string[] = [];
  #doing = '';
  #isRemoved: boolean;
  /** The resource versions that the pool's next plan must have seen. */
  #minVersions: ResourceVersions = {};

  constructor(input: HealVmInput) {
    this.#in = input;
    const { unhealthyVm, startedAt, removed } = input.attempt;
    this.#id = { vm: unhealthyVm.name, uid: unhealthyVm.uid, attempt: unhealthyVm.attempt, startedAt };
    this.#isRemoved = removed !== undefined;
  }

  async run(): Promise<AttemptEnd> {
    try {
      const outcome = await this.#replace();
      await this.#end(outcome);
      return outcome;
    } catch (error) {
      // A worker that dies meanwhile lets the cancelled activity time out.
      if (isCancellation(error) || CancellationScope.current().consideredCancelled)
        await CancellationScope.nonCancellable(() => this.#end({ end: 'Cancelled', isRemoved: this.#isRemoved }));
      throw error;
    }
  }

  async #replace(): Promise<AttemptEnd> {
    const { key, attempt } = this.#in;
    const { unhealthyVm } = attempt;
    let removed: Removed | undefined = attempt.removed;
    if (removed === undefined) {
      this.#show('deletes the VM');
      const removal = await removeUnhealthyVm.executeWithOptions(
        { summary: summary(`delete ${unhealthyVm.name}: ${unhealthyVm.message}`) },
        [key, unhealthyVm, Date.now()],
      );
      if (removal.end !== 'Removed') return removal;
      this.#isRemoved = true;
      for (const event of removal.events) this.#log(event);
      this.#show('waits until the VM and its disks are gone');
      this.#minVersions = await awaiting().awaitRemoval.executeWithOptions(
        { summary: summary(`wait for ${unhealthyVm.name} to go`) },
        [key, this.#id],
      );
      const delayMs = healingBackoffMs(unhealthyVm.rules.backoff, unhealthyVm.attempt, Math.random());
      removed = { keptDisks: removal.keptDisks, nextAt: new Date(Date.now() + delayMs).toISOString() };
      await this.#notify((pool) =>
        pool.signal(attemptWaiting, { ...this.#id, ...removed!, minVersions: this.#minVersions }),
      );
    }
    this.#show(`waits until ${removed.nextAt} before it is recreated`);
    const waitMs = attempt.skipDelay ? 0 : Date.parse(removed.nextAt) - Date.now();
    if (waitMs > 0) await sleep(waitMs, { summary: summary(`the delay before replacement ${unhealthyVm.attempt}`) });
    return { end: 'Removed', ...removed };
  }

  async #end(outcome: AttemptEnd): Promise<void> {
    const message = 'message' in outcome ? `: ${outcome.message}` : '';
    this.#show(`has ended: ${outcome.end}${message}`);
    upsertSearchAttributes([{ key: DroverPhase, value: outcome.end }]);
    await this.#notify((pool) => pool.signal(attemptEnded, { ...this.#id, outcome, minVersions: this.#minVersions }));
  }

  async #notify(signal: (pool: ReturnType<typeof getExternalWorkflowHandle>) => Promise<void>): Promise<void> {
    await signal(getExternalWorkflowHandle(poolIdOf(this.#in.ref))).catch((error: unknown) => {
      if (isCancellation(error)) throw error;
      log.warn("the pool's workflow is not there to be signalled", { error: String(error) });
    });
  }

  #log(what: string): void {
    this.#past.push(`${new Date(Date.now()).toISOString()} ${what}`);
  }

  #show(doing = this.#doing): void {
    this.#doing = doing;
    const { name, message, attempt, rules } = this.#in.attempt.unhealthyVm;
    const most = rules.maxAttempts === null ? '' : ` of at most ${rules.maxAttempts}`;
    setCurrentDetails(
      [
        `**${name}** is unhealthy: ${escapeMarkdown(message)}`,
        `Replacement ${attempt}${most}: ${escapeMarkdown(doing)}`,
        ...this.#past.toReversed().map((line) => `- ${escapeMarkdown(line)}`),
      ].join('\n\n'),
    );
  }
}
