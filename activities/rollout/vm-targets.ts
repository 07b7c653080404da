import { REVISION_LABEL } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { updateRules } from '../../api/rules/pool-defaults.ts';
import { olderContent } from '../../decisions/configuration/older-content.ts';
import { excluded } from '../../decisions/disruption/need.ts';
import { correctionOf } from '../../decisions/drift/members.ts';
import { activeVmi } from '../../decisions/health/availability.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import { field, type Json } from '../../decisions/lib/json.ts';
import { mergeVm } from '../../decisions/merge/vm.ts';
import { standbyNeed, standbyTarget } from '../../decisions/standby/standby-need.ts';
import { requiredReferences } from '../../decisions/template/references.ts';
import type { PoolTemplate } from '../../decisions/template/template.ts';
import { vmFromTemplate, type NewVirtualMachine } from '../../decisions/template/vm-from-template.ts';
import { numberOf } from '../../decisions/template/vm-names.ts';
import { vmView, type VirtualMachine } from '../../decisions/views/from-object/vm.ts';
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
import type { PoolKey } from '../owners/owner-key.ts';
import type { Revisions } from './revisions.ts';

export interface VmTargetsOptions extends ClusterAccess {
  revisions: Revisions;
  references: References;
  key: PoolKey;
  /** The template that VMs are brought to. */
  template: PoolTemplate;
}

/** What an update makes of each VM of a pool, and what that takes. */
export class VmTargets {
  readonly #in: VmTargetsOptions;

  constructor(options: VmTargetsOptions) {
    this.#in = options;
  }

  /** Returns the VM that the pool would make now, and what becomes of this one. */
  async targetOf(
    pool: StoredPool,
    vm: Stored<VirtualMachine>,
    right: CorrectedVm | undefined,
  ): Promise<{ target: NewVirtualMachine; merged: Stored<VirtualMachine> }> {
    const target = vmFromTemplate(pool, this.#in.template, this.#numberOf(vm));
    const base = await this.#madeOf(pool, vm);
    if (base === null || !isExpanded(vm, base) || refersTo(base) === refersTo(target))
      return { target, merged: mergeVm(right?.vm ?? vm, base, target) };
    // What was the former instance type's goes with it, and the new one's comes, as KubeVirt would have written it.
    const [from, to] = [await this.#expanded(pool, vm, base), await this.#expanded(pool, vm, target)];
    if (to === undefined) throw new ActRefused('Invalid', REPLACED);
    return { target, merged: mergeVm(right?.vm ?? vm, from ?? base, to) };
  }

  /** Returns which Secrets and ConfigMaps are missing without which this VM could not start; null if none are. */
  missing({ spec }: NewVirtualMachine | Stored<VirtualMachine>): Promise<string | null> {
    const { references, key } = this.#in;
    return references.missing(key.namespace, requiredReferences(spec));
  }

  /** Decides again what the VM needs to reach the template, by the pool's rules. `revision`: that of the template. */
  async needOf(pool: StoredPool, revision: string, vm: VmView, vmi: VmiView | undefined): Promise<UpdateNeed> {
    const { cache, revisions, key, template } = this.#in;
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
  async correctVm(
    pool: StoredPool,
    vm: Stored<VirtualMachine>,
    own: VmiView | undefined,
  ): Promise<CorrectedVm | undefined> {
    const { client, cache } = this.#in;
    const made = await this.#madeOf(pool, vm);
    const strategy = pool.spec.vmRolloutStrategy ?? cache.rolloutStrategy();
    return made === null ? undefined : correctVm(client, pool, { vm, vmi: activeVmi(vmView(vm), own), made, strategy });
  }

  /** What the pool would make from the VM's own revision; null if that is not known any more. */
  async #madeOf(pool: StoredPool, vm: Stored<VirtualMachine>): Promise<NewVirtualMachine | null> {
    const { revisions, key } = this.#in;
    const { revision } = vmView(vm);
    const template = revision === null ? undefined : await revisions.find(key, revision);
    return template === undefined ? null : vmFromTemplate(pool, template, this.#numberOf(vm));
  }

  /** Returns the VM as KubeVirt makes it of one of the pool's; undefined if it doesn't tell. */
  async #expanded(
    pool: StoredPool,
    vm: Stored<VirtualMachine>,
    made: NewVirtualMachine,
  ): Promise<NewVirtualMachine | undefined> {
    const { revisions, key } = this.#in;
    const revision = made.metadata.labels[REVISION_LABEL]!;
    if (refersTo(made) === refersTo(null)) return made;
    const template = await revisions.expanded(key, revision);
    if (template === undefined) return undefined;
    const { spec } = vmFromTemplate(pool, template, this.#numberOf(vm));
    const [ours, theirs] = [made.spec['template'] as Json, spec['template'] as Json];
    const metadata = { ...(theirs['metadata'] as Json), labels: field(ours, 'metadata', 'labels') };
    return { ...made, spec: { ...spec, template: { ...theirs, metadata } } };
  }

  #numberOf({ metadata }: Stored<VirtualMachine>): number {
    const number = numberOf(this.#in.key.name, metadata.name);
    if (number === null) throw new ActRefused('Invalid', "its name does not match the pool's naming scheme");
    return number;
  }
}

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
