import { cancellationSignal } from '@temporalio/activity';
import { REVISION_LABEL } from '../../api/labels-and-annotations.ts';
import { withDefaults } from '../../api/rules/pool-defaults.ts';
import type { Labels } from '../../decisions/disruption-budget/any-vms/budget-index.ts';
import { vmView } from '../../decisions/from-object/vm.ts';
import { liveVmi } from '../../decisions/health/availability.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { grownDisks } from '../../decisions/merge/vm.ts';
import type { BatchVm, UpdateAct, UpdateOutcome } from '../../decisions/owners/batch.ts';
import { recheckMigration, recheckVm, whyExcessive, type Recheck } from '../../decisions/rollout/turns/recheck.ts';
import { remainingToStep } from '../../decisions/rollout/turns/step.ts';
import { isOwnedBy, type VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { disruptionBetween } from '../../decisions/vm-update/disruption.ts';
import { ActRefused, isConflict } from '../../kubernetes/errors.ts';
import { waitForObservedGeneration } from '../cache/wait-for-observed-generation.ts';
import { growDisks } from '../disks/grow.ts';
import { SpecWriter } from '../disks/spec-writer.ts';
import { actInPool, claimlessFor, NotAdmitted, notDone, type Acted, type Claim } from '../disruption-budget/claim.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import { withoutPlace } from '../disruption-budget/without-place.ts';
import { actOnVm } from '../disruption/act-on-vm.ts';
import { Migrations } from '../disruption/migrations.ts';
import { restartVm } from '../disruption/restart-vm.ts';
import { refuseDrift } from '../drift/correct-vm.ts';
import { labelVmi } from '../lib/label-vmi.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { deleteReplaced } from './delete-replaced.ts';
import { mayMigrate, migrationBy } from './update-migration.ts';
import { VmTargets, type Glance, type Look, type Made, type VmTargetsOptions } from './vm-targets.ts';
import { vmiMetadataPatch } from './vmi-metadata.ts';

/** KubeVirt observes a new spec within moments if it is healthy. */
const OBSERVED_WITHIN_MS = 10_000;

interface VmUpdaterOptions extends VmTargetsOptions {
  claims: DisruptionClaims;
  /** The batch's number. */
  n: number;
  rollout: string;
  startedAt: number;
  /** Resolved once the template is kept: before that, no VM is brought to it. */
  kept: Promise<unknown>;
}

/** Null: the VM is in progress. `again`: it is to be looked at again. */
type Outcome = UpdateOutcome | 'again' | null;

/** What is to be done to a VM. */
type ToDo = Extract<Recheck, { need: 'act' }>;

/** Reports whether the VM that is to be replaced is gone already, or goes: only its replacement is left to be made. */
const isGoing = (key: PoolKey, item: BatchVm, vm: VmView | undefined): boolean =>
  vm === undefined ||
  (vm.uid === item.uid && isOwnedBy(vm, 'VirtualMachinePool', key) && vm.deleting && !vm.removing && !vm.keepsDisks);

/** What the API server or KubeVirt refuses. */
const REFUSED: Partial<Record<UpdateAct, string>> = {
  replace: 'it cannot be deleted: ',
  migrate: 'its migration is refused: ',
};

const gone = ({ name }: BatchVm): UpdateOutcome => ({ vm: name, end: 'Gone' });
const deferred = ({ name }: BatchVm, message: string): UpdateOutcome => ({ vm: name, end: 'Deferred', message });
const ownDeferred = (item: BatchVm, message: string): UpdateOutcome => ({ ...deferred(item, message), isOwn: true });

/** Brings the VMs of one batch to their revision. */
export class VmUpdater {
  readonly #in: VmUpdaterOptions;
  readonly #targets: VmTargets;
  readonly #writer: SpecWriter;
  readonly #migrations: Migrations;
  /** Names of VMs that have, or are about to get, the revision by this. */
  readonly #writing = new Set<string>();
  /** The labels that VMs get, if these bring them under other budgets, by name. */
  readonly becomes = new Map<string, Labels>();
  #minVersions: ResourceVersions = {};

  constructor(options: VmUpdaterOptions) {
    this.#in = options;
    this.#targets = new VmTargets(options);
    this.#writer = new SpecWriter(options.client, options.cache);
    this.#migrations = new Migrations(options);
  }

  /** What caches must have reached to show what was done or found. */
  get minVersions(): ResourceVersions {
    return this.#minVersions;
  }

  /**
   * Returns null if the VM is now in progress, and to be waited for. Throws transient errors, for the caller to retry.
   * Its first look is at this worker's caches: what was right by them is looked at again in its place in the budget.
   */
  async execute(item: BatchVm): Promise<UpdateOutcome | NotAdmitted | null> {
    let tries = 0;
    const execute = async (): Promise<UpdateOutcome | NotAdmitted | null> => {
      if (item.act === 'migrate') return this.#migrate(item);
      let outcome = await this.#executeOnce(item, tries++);
      // Meanwhile, the VM may have left its pool, or may have come up and need a claim.
      while (outcome === 'again') outcome = await this.#executeOnce(item, tries++);
      return outcome;
    };
    return actOnVm<UpdateOutcome | NotAdmitted | null, UpdateOutcome>(execute, (error) => {
      if (isConflict(error)) return deferred(item, error.message);
      return error instanceof ActRefused && error.reason === 'DiskHeld'
        ? ownDeferred(item, error.message)
        : { vm: item.name, end: 'Failed', message: `${REFUSED[item.act] ?? ''}${error.message}` };
    });
  }

  /** Begins to migrate a VM whose pod lacks something of the revision. */
  async #migrate(item: BatchVm): Promise<UpdateOutcome | NotAdmitted | null> {
    const look = await this.#targets.live(item);
    if (look === undefined) return gone(item);
    const { pool, view: vm, own } = look;
    this.#raiseMinVersions({ vms: vm.resourceVersion, vmis: own?.resourceVersion });
    const todo = recheckMigration({ ...this.#in, item, vm, vmi: own, pool, now: Date.now() });
    if (todo.need === 'gone') return gone(item);
    if (todo.need === 'deferred') return deferred(item, todo.message);
    if (todo.need === 'nothing') return null;
    const message = whyExcessive(item, await this.#targets.needOf(pool, vm, todo.vmi), pool);
    if (message !== null) return deferred(item, message);
    const { attempt } = item.migration!;
    const begun = await this.#migrations.begin({
      purpose: 'update',
      vm,
      vmi: todo.vmi,
      attempt,
      reason: 'Rollout',
    });
    // Another migration gives it another pod as well, and holds up no other VM.
    if (begun instanceof NotAdmitted) return begun.reason === 'NoClaim' ? begun : ownDeferred(item, begun.whyNot);
    this.#raiseMinVersions(begun);
    return null;
  }

  async #executeOnce(item: BatchVm, tries: number): Promise<Outcome | NotAdmitted> {
    const { key, claims } = this.#in;
    const glance = tries === 0 ? this.#targets.cached(item) : undefined;
    const becomes = this.becomes.get(item.name);
    const asked = { reason: 'Rollout', pool: key, becomes, ...migrationBy(item) } as const;
    if (glance !== undefined && this.#disrupts(item, glance))
      return actInPool(claims, { vm: glance.view, vmi: glance.vmi, ...asked }, async (claim) => {
        const look = await this.#targets.ofPool(item, claim.pool);
        return this.#actOn(item, look, claim);
      });
    const look = await this.#targets.live(item);
    if (look === undefined || !this.#disrupts(item, look)) return (await this.#actOn(item, look, null)).value;
    return actInPool(claims, { vm: look.view, vmi: look.own, ...asked }, (claim) =>
      this.#actOn(item, { ...look, pool: claim.pool }, claim),
    );
  }

  /** Whether the VM needs a claim on the budget. */
  #disrupts(item: BatchVm, seen: Glance & Partial<Pick<Look, 'right'>>): boolean {
    const todo = this.#decide(item, seen);
    return todo.need === 'act' && todo.disrupts;
  }

  /** Does to the VM what is to be done. `claim`: null for what needs none; if it turns out to need one: `again`. */
  async #actOn(item: BatchVm, look: Look | undefined, claim: Claim | null): Promise<Acted<Outcome>> {
    if (item.act === 'replace' && isGoing(this.#in.key, item, look?.view)) return notDone(null);
    if (look === undefined) return notDone(gone(item));
    const todo = this.#decide(item, look);
    if (todo.need === 'gone') return notDone(gone(item));
    if (todo.need === 'deferred') return notDone(deferred(item, todo.message));
    if (todo.need === 'nothing')
      return notDone(item.act === 'write' || item.act === 'replace' ? { vm: item.name, end: 'Updated' } : null);
    const right = todo.disrupts ? claim : (claim ?? claimlessFor(look.view, look.own));
    if (todo.disrupts && right === null) return notDone('again');
    right?.recheck(look.view);
    const need = await this.#targets.needOf(look.pool, look.view, look.own);
    const message = whyExcessive(item, need, look.pool, todo.restarts);
    return message === null ? this.#act(item, todo, look, right) : notDone(deferred(item, message));
  }

  /** Does it, unless something that concerns this VM alone stands in the way. */
  async #act(item: BatchVm, todo: ToDo, look: Look, claim: Claim | null): Promise<Acted<Outcome>> {
    const made = await this.#targets.targetOf(look);
    const ofItsOwn = await this.#whyOwnLater(item, todo, look, made);
    if (ofItsOwn !== null) return notDone(ofItsOwn);
    await this.#in.kept;
    if ((item.act === 'replace' || todo.restarts !== null) && claim === null) return notDone('again');
    const { labels: ownLabels = {} } = (item.act === 'replace' ? made.target : made.merged).metadata;
    if (claim?.covers({ namespace: look.view.namespace, ownLabels }) === false) {
      this.becomes.set(item.name, ownLabels);
      return notDone('again');
    }
    if (item.act === 'replace') return deleteReplaced(this.#in, look, claim!);
    if (todo.writes) this.#writing.add(item.name);
    const now = todo.writes ? await this.#write(look, made, claim) : look.view;
    if (todo.restarts !== null) return this.#restart(item, { ...look, view: now, vmi: todo.restarts }, claim!);
    if (item.act !== 'write') return { isDone: mayMigrate(look, made) && 'live', value: null };
    const live = liveVmi(look.vmi);
    if (live !== undefined) await this.label(live);
    return notDone({ vm: item.name, end: 'Updated' });
  }

  /** Returns its outcome if something that concerns this VM alone stands in the way. */
  async #whyOwnLater(
    item: BatchVm,
    { restarts, writes }: ToDo,
    { pool, vm: before }: Look,
    { target: made, merged }: Made,
  ): Promise<UpdateOutcome | null> {
    const replaces = item.act === 'replace';
    const after = replaces ? made : merged;
    const disk = replaces || writes ? await this.#writer.whyHeld(pool, { before, after, made }) : null;
    const message =
      disk ??
      (replaces || restarts !== null ? await this.#targets.missing(after) : null) ??
      (!replaces && restarts !== null ? await this.#targets.claimsBeingDeleted(before) : null);
    return message === null ? null : ownDeferred(item, message);
  }

  /** Restarts the VMI of a VM that has its new spec. */
  async #restart(
    item: BatchVm,
    { view: vm, vmi: target }: Glance & { vmi: VmiView },
    claim: Claim,
  ): Promise<Acted<Outcome>> {
    const { client, cache } = this.#in;
    let now = { vm, vmi: target };
    if (!vm.generationObserved) {
      const isObserved = await withoutPlace(
        waitForObservedGeneration(cache, vm, OBSERVED_WITHIN_MS, cancellationSignal()),
      );
      // KubeVirt would start the next VMI from the previous spec.
      if (!isObserved) return notDone(deferred(item, 'KubeVirt has not observed its new spec'));
      const seen = this.#targets.cached(item);
      const todo = seen && this.#decide(item, seen);
      if (todo?.need !== 'act' || todo.restarts?.uid !== target.uid) return { isDone: true, value: 'again' };
      now = { vm: seen!.view, vmi: todo.restarts };
    }
    this.#raiseMinVersions(await restartVm(client, { ...now, claim }));
    return { isDone: true, value: null };
  }

  /** Decides on the pool and the VM as they were seen. */
  #decide(item: BatchVm, { pool, view: vm, vmi, right }: Glance & Partial<Pick<Look, 'right'>>): Recheck {
    const { cache } = this.#in;
    const vms = (): VmView[] =>
      cache.vms.ownedBy('VirtualMachinePool', pool.metadata).filter(({ uid }) => uid !== vm.uid);
    const vmiOf = (one: VmView): VmiView | undefined => cache.vmiOf(one);
    const toStep = remainingToStep({ ...this.#in, pool, vms, vmiOf, onTheirWay: this.#writing });
    const correction = right?.disruption ?? null;
    return recheckVm({ ...this.#in, item, vm, vmi, pool, toStep, correction, now: Date.now() });
  }

  #raiseMinVersions(newer: ResourceVersions): void {
    this.#minVersions = maxVersions(this.#minVersions, newer);
  }

  /** Returns the VM as it is after the write: its run strategy may have changed. */
  async #write({ pool, vm, view, own, right }: Look, { target, merged }: Made, claim: Claim | null): Promise<VmView> {
    const { client, key, startedAt } = this.#in;
    // Before the write: a VM whose disks can't grow is not at the new revision.
    const deadline = startedAt + withDefaults(pool.spec).rollout.progressDeadlineSeconds * 1000;
    await growDisks(client, key.namespace, grownDisks(vm, merged), deadline);
    // The VMI runs drifted content: it has no revision until it has restarted or was updated live.
    if (right?.isVmiOld === true) await this.#writeToVmi(own!, { labels: { [REVISION_LABEL]: null } });
    const written = await this.#writer.update(pool, {
      before: vm,
      after: merged,
      made: target,
      lastCheck: claim?.lastCheck,
    });
    if (written === undefined) return view;
    this.#raiseMinVersions({ vms: written.metadata.resourceVersion });
    if (right !== undefined) refuseDrift(written, target);
    return vmView(written);
  }

  /**
   * Gives the VMI the labels and annotations of the template, and with them the revision: if it has taken all else of
   * the template while it ran (`isUpdated`), or if there is nothing else to take.
   */
  async label(vmi: VmiView, isUpdated = false): Promise<void> {
    const { cache, revisions, key, template } = this.#in;
    const from = vmi.revision === null ? undefined : await revisions.find(key, vmi.revision);
    const isAll = from !== undefined && disruptionBetween(from, template, cache.rolloutStrategy()) === 'None';
    if (isUpdated || isAll) await this.#writeToVmi(vmi, vmiMetadataPatch(key.name, from ?? template, template, vmi));
  }

  async #writeToVmi(vmi: VmiView, metadata: object): Promise<void> {
    this.#raiseMinVersions({ vmis: await labelVmi(this.#in.client, vmi, metadata) });
  }
}
