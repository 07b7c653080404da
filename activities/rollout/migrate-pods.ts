import { cancellationSignal } from '@temporalio/activity';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { BatchVm, UpdateOutcome } from '../../decisions/owners/batch.ts';
import { recheckMigration } from '../../decisions/rollout/turns/recheck.ts';
import { isConflict } from '../../kubernetes/errors.ts';
import { NoPlace } from '../disruption-budget/in-place.ts';
import { actOnVm } from '../disruption/act-on-vm.ts';
import { isHeld, Migrations } from '../disruption/migrations.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVmWithVmi } from '../owners/live-vm.ts';
import { VmTargets } from './vm-targets.ts';
import type { VmUpdaterOptions } from './vm-updater.ts';

/** Begins to migrate the VMs of one batch whose pods lack something of its revision. */
export class PodMigrator {
  readonly #in: VmUpdaterOptions;
  readonly #targets: VmTargets;
  readonly #migrations: Migrations;
  #minVersions: ResourceVersions = {};

  constructor(options: VmUpdaterOptions) {
    this.#in = options;
    this.#targets = new VmTargets(options);
    this.#migrations = new Migrations(options);
  }

  /** What caches must have reached to show what was done or found. */
  get minVersions(): ResourceVersions {
    return this.#minVersions;
  }

  /** Returns null if the VM is in progress. Throws transient errors, for the caller to retry. */
  async take(held: BatchVm): Promise<UpdateOutcome | NoPlace | null> {
    return actOnVm<UpdateOutcome | NoPlace | null, UpdateOutcome>(
      () => this.#take(held),
      (error) =>
        isConflict(error)
          ? deferred(held, 'another client is changing the VM')
          : { vm: held.name, end: 'Failed', why: `its migration is refused: ${error.message}` },
    );
  }

  async #take(held: BatchVm): Promise<UpdateOutcome | NoPlace | null> {
    const { client, cache, key, revision, rollout, startedAt } = this.#in;
    const at = { namespace: key.namespace, name: held.name };
    const signal = cancellationSignal();
    const [pool, live] = await Promise.all([livePool(client, key, signal), liveVmWithVmi(client, at, signal)]);
    const vm = live.vm && cache.vmView(live.vm);
    const vmi = live.vmi && cache.withSurroundings(live.vmi);
    this.#note({ vms: vm?.resourceVersion, vmis: vmi?.resourceVersion });
    const take = recheckMigration({ held, revision, rollout, startedAt, vm, vmi, pool, now: Date.now() });
    if (take.need === 'gone' || pool === undefined || vm === undefined) return { vm: held.name, end: 'Gone' };
    if (take.need === 'deferred') return deferred(held, take.why);
    if (take.need === 'nothing') return null;
    const need = await this.#targets.needOf(pool, revision, vm, take.vmi);
    if (need.need === 'deferred' || need.need === 'excluded') return deferred(held, need.why);
    if (need.need === 'nothing' || need.act !== 'migrate') return deferred(held, 'it no longer needs a migration');
    const { attempt } = held.migration!;
    const begun = await this.#migrations.begin({ purpose: 'update', vm, vmi: take.vmi, attempt });
    // Another migration gives it another pod as well, and holds up no other VM.
    if (isHeld(begun))
      return begun.reason === 'NoPlace' ? new NoPlace(begun.why) : { ...deferred(held, begun.why), isOwn: true };
    this.#note(begun);
    return null;
  }

  #note(newer: ResourceVersions): void {
    this.#minVersions = maxVersions(this.#minVersions, newer);
  }
}

const deferred = ({ name }: BatchVm, why: string): UpdateOutcome => ({ vm: name, end: 'Deferred', why });
