import { REVISION_LABEL } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { updateRules } from '../../api/rules/pool-defaults.ts';
import { olderContent } from '../../decisions/configuration/older-content.ts';
import { excluded } from '../../decisions/disruption/need.ts';
import { correctionOf } from '../../decisions/drift/members.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import { activeVmi } from '../../decisions/health/availability.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import { field, type Json } from '../../decisions/lib/json.ts';
import { mergeVm } from '../../decisions/merge/vm.ts';
import type { BatchVm } from '../../decisions/owners/batch.ts';
import { standbyNeed, standbyTarget } from '../../decisions/rollout/standby-need.ts';
import { requiredReferences } from '../../decisions/template/references.ts';
import type { PoolTemplate } from '../../decisions/template/template.ts';
import { vmFromTemplate, type NewVirtualMachine } from '../../decisions/template/vm-from-template.ts';
import { numberOf } from '../../decisions/template/vm-names.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isRegular, isStandby, type VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { updateNeed, type RolloutTarget, type UpdateNeed } from '../../decisions/vm-update/need.ts';
import { podActOf } from '../../decisions/vm-update/pod-act.ts';
import { podLacks } from '../../decisions/vm-update/pod-lack.ts';
import { ActRefused } from '../../kubernetes/errors.ts';
import type { ClusterAccess } from '../cache/access.ts';
import type { References } from '../configuration/references.ts';
import { correctVm, type CorrectedVm } from '../drift/correct-vm.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVmWithVmi, type LiveVm } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import type { Revisions } from './revisions.ts';

export interface VmTargetsOptions extends ClusterAccess {
  revisions: Revisions;
  references: References;
  key: PoolKey;
  /** The revision that VMs are brought to, and its template. */
  revision: string;
  template: PoolTemplate;
}

/** A pool and one of its VMs. */
export interface Glance {
  pool: StoredPool;
  view: VmView;
  /** The VMI of the VM. A VMI that runs what its VM has drifted to is of no revision, whatever its label says. */
  vmi: VmiView | undefined;
}

/** All that an update needs to know of a VM. */
export interface Look extends Glance {
  /** What an update may change of it. A write of it fails if the VM is in another version by now. */
  vm: Stored<VirtualMachine>;
  /** Its VMI, as it is labelled. */
  own: VmiView | undefined;
  /** The VM without its drift, if that will be corrected. */
  right: CorrectedVm | undefined;
}

/** The VM that the pool would make now, and what becomes of the one that there is. */
export interface Made {
  target: NewVirtualMachine;
  merged: Stored<VirtualMachine>;
}

/**
 * Looks at the VMs of a pool: what an update makes of each, and what that takes. Each look is undefined if the pool or
 * the VM is gone.
 */
export class VmTargets {
  readonly #in: VmTargetsOptions;
  readonly #livePool: () => Promise<StoredPool | undefined>;

  constructor(options: VmTargetsOptions) {
    this.#in = options;
    this.#livePool = sharedCall(() => livePool(options.client, options.key));
  }

  /** As this worker's caches have them. */
  cached({ name }: BatchVm): Glance | undefined {
    const { cache, key } = this.#in;
    const pool = cache.pools.get(`${key.namespace}/${key.name}`);
    const view = cache.vms.get(`${key.namespace}/${name}`);
    if (pool?.metadata.uid !== key.uid || view === undefined) return undefined;
    return { pool, view, vmi: cache.vmiOf(view) };
  }

  /** As the API server has them now. */
  async live(item: BatchVm): Promise<Look | undefined> {
    const at = { namespace: this.#in.key.namespace, name: item.name };
    const [pool, live] = await Promise.all([this.#livePool(), liveVmWithVmi(this.#in, at)]);
    if (pool === undefined || live === undefined) return undefined;
    const { stored: vm, vm: view, vmi: own } = live;
    const right = item.setsRight === true ? await this.#correctVm(pool, live) : undefined;
    const vmi = own !== undefined && right?.isVmiOld === true ? { ...own, revision: null } : own;
    return { pool, vm, view, own, vmi, right };
  }

  /**
   * As this worker's caches have them, in a pool that was just read: what is written to a VM fails if the VM has
   * changed since. Read after all if the caches are behind, or lack something that is to be changed.
   */
  async ofPool(item: BatchVm, pool: StoredPool): Promise<Look | undefined> {
    const { view, vmi } = this.cached(item) ?? {};
    const isBehind = view === undefined || view.hasVmi !== (vmi !== undefined);
    if (isBehind || item.setsRight === true || !(await this.#isWhole(view))) return this.live(item);
    return { pool, vm: vmOf(view), view, own: vmi, vmi, right: undefined };
  }

  /** Whether the cache has all of the VM that an update changes: it has no annotations of drover's, nor long ones. */
  async #isWhole({ revision, spec }: VmView): Promise<boolean> {
    const { revisions, key, template } = this.#in;
    const before = revision === null || spec === null ? undefined : await revisions.find(key, revision);
    return before !== undefined && annotationsIn(before) === annotationsIn(template);
  }

  async targetOf({ pool, vm, view, right }: Pick<Look, 'pool' | 'vm' | 'view' | 'right'>): Promise<Made> {
    const target = vmFromTemplate(pool, this.#in.template, this.#numberOf(view));
    const base = await this.#madeOf(pool, view);
    if (base === null || !isExpanded(vm, base) || refersTo(base) === refersTo(target))
      return { target, merged: mergeVm(right?.vm ?? vm, base, target) };
    // What was the former instance type's goes with it, and the new one's comes, as KubeVirt would have written it.
    const [from, to] = [await this.#expanded(pool, view, base), await this.#expanded(pool, view, target)];
    if (to === undefined) throw new ActRefused('Invalid', REPLACED);
    return { target, merged: mergeVm(right?.vm ?? vm, from ?? base, to) };
  }

  /** Returns which Secrets and ConfigMaps are missing without which this VM could not start; null if none are. */
  missing({ spec }: NewVirtualMachine | Stored<VirtualMachine>): Promise<string | null> {
    const { references, key } = this.#in;
    return references.missing(key.namespace, requiredReferences(spec));
  }

  /** Returns which claims of this VM a restart would lose, in words; null if none. */
  claimsBeingDeleted({ spec }: Stored<VirtualMachine>): Promise<string | null> {
    const { references, key } = this.#in;
    return references.claimsBeingDeleted(key.namespace, spec);
  }

  /** Decides again what the VM needs to reach the template, by the pool's rules. */
  async needOf(pool: StoredPool, vm: VmView, vmi: VmiView | undefined): Promise<UpdateNeed> {
    const { cache, revisions, key, revision, template } = this.#in;
    const templates = new Map([[revision, template]]);
    for (const own of [vm.revision, vmi?.revision ?? null, vmi?.podRevision ?? null]) {
      const found = own === null || templates.has(own) ? undefined : await revisions.find(key, own);
      if (found !== undefined) templates.set(own!, found);
    }
    const templateOf = (of: string): PoolTemplate | undefined => templates.get(of);
    const rules = updateRules(pool.spec.updateStrategy);
    if (rules.kind === 'unmanaged') return excluded('its pool leaves updates to others');
    const clusterStrategy = cache.rolloutStrategy();
    const strategy = pool.spec.vmRolloutStrategy ?? clusterStrategy;
    const vmiOf = (one: VmView): VmiView | undefined => (one === vm ? vmi : undefined);
    const { changeFor } = olderContent({ pool, vms: [vm], vmiOf, templateOf, contents: cache.contents.of(pool) });
    const nodeLabelsOf = (node: string): Readonly<Record<string, string>> | undefined => cache.nodes.get(node)?.labels;
    const lackOf = podLacks({ template, templateOf, nodeLabelsOf });
    const target: RolloutTarget = {
      revision,
      template,
      templateOf,
      strategy,
      clusterStrategy,
      plugs: cache.kubevirtPlugs(),
      expandedOf: (of) => cache.expansions.known(key.namespace, of),
      changeFor,
      podActFor: (one, its) => (isRegular(one) && lackOf(its) !== null ? podActOf(its, rules) : null),
      limit: rules.kind === 'proactive' ? rules.disruption : null,
      correction: (one) => correctionOf(pool, one, { templateOf, strategy }),
    };
    return isStandby(vm) ? standbyNeed(vm, vmiOf, standbyTarget(target)) : updateNeed(vm, vmiOf, target);
  }

  /** Returns the VM without its drift, if that is still wanted; undefined if nothing will be corrected. */
  async #correctVm(pool: StoredPool, { stored, vm: view, vmi }: LiveVm): Promise<CorrectedVm | undefined> {
    const { client, cache } = this.#in;
    const made = await this.#madeOf(pool, view);
    const strategy = pool.spec.vmRolloutStrategy ?? cache.rolloutStrategy();
    if (made === null) return undefined;
    return correctVm(client, pool, { vm: stored, vmi: activeVmi(view, vmi), made, strategy });
  }

  /** What the pool would make from the VM's own revision; null if it is no longer known. */
  async #madeOf(pool: StoredPool, vm: VmView): Promise<NewVirtualMachine | null> {
    const { revisions, key } = this.#in;
    const { revision } = vm;
    const template = revision === null ? undefined : await revisions.find(key, revision);
    return template === undefined ? null : vmFromTemplate(pool, template, this.#numberOf(vm));
  }

  /** Returns the VM as KubeVirt makes it of one of the pool's; undefined if it doesn't tell. */
  async #expanded(pool: StoredPool, vm: VmView, made: NewVirtualMachine): Promise<NewVirtualMachine | undefined> {
    const { revisions, key } = this.#in;
    const revision = made.metadata.labels[REVISION_LABEL]!;
    if (refersTo(made) === refersTo(null)) return made;
    const template = await revisions.expanded(key, revision);
    if (template === undefined) return undefined;
    const { spec } = vmFromTemplate(pool, template, this.#numberOf(vm));
    const [desired, live] = [made.spec['template'] as Json, spec['template'] as Json];
    const metadata = { ...(live['metadata'] as Json), labels: field(desired, 'metadata', 'labels') };
    return { ...made, spec: { ...spec, template: { ...live, metadata } } };
  }

  #numberOf({ name }: VmView): number {
    const number = numberOf(this.#in.key.name, name);
    if (number === null) throw new ActRefused('Invalid', "its name does not match the pool's naming scheme");
    return number;
  }
}

const annotationsIn = ({ metadata }: PoolTemplate): string => canonical(metadata?.annotations ?? {});

/** The VM of a pool, as a cache has it. */
const vmOf = ({ namespace, name, uid, resourceVersion, createdAt, ...view }: VmView): Stored<VirtualMachine> => ({
  metadata: {
    namespace,
    name,
    uid,
    resourceVersion,
    creationTimestamp: new Date(createdAt).toISOString(),
    labels: view.ownLabels,
    annotations: view.annotations,
  },
  spec: { ...view.spec },
});

const REPLACED =
  'KubeVirt has replaced its instance type or preference by its content, ' +
  'and does not report the content of the new one';

/** Reports whether the VM no longer has a reference that it was made with: KubeVirt's `referencePolicy` replaces it. */
const isExpanded = (vm: Stored<VirtualMachine>, base: NewVirtualMachine): boolean =>
  (['instancetype', 'preference'] as const).some(
    (key) => field(base.spec, key) !== undefined && field(vm.spec, key) === undefined,
  );

const refersTo = (vm: NewVirtualMachine | null): string =>
  canonical([field(vm?.spec, 'instancetype') ?? null, field(vm?.spec, 'preference') ?? null]);
