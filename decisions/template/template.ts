import type { NameGeneration, PoolSpec, VmTemplate } from '../../api/pool/pool.ts';
import { isNamed, NAME_GENERATION_FLAGS, numberedReferences } from './references.ts';

/** The eviction strategy under which drover moves a VM off its node. */
export const EXTERNAL = 'External';

/**
 * Everything that a pool's VMs are made from, and that its revisions keep: the template, and which references in it get
 * the VM's number (only if there are such references). A change of either is a new revision.
 */
export interface PoolTemplate extends VmTemplate {
  nameGeneration?: NameGeneration;
}

export function poolTemplate({
  template: given,
  nameGeneration = {},
  drain,
}: Pick<PoolSpec, 'template' | 'nameGeneration'> & { drain?: PoolSpec['drain'] | null }): PoolTemplate {
  const template = drain == null ? given : withExternalEviction(given);
  const flags = NAME_GENERATION_FLAGS.filter((flag) => nameGeneration[flag] === true && hasEffect(flag, template));
  return flags.length === 0
    ? template
    : { ...template, nameGeneration: Object.fromEntries(flags.map((flag) => [flag, true])) };
}

/**
 * Returns the spec fields with which a pool makes its VMs from this template. Flags without effect on it keep the
 * values that they have in `before`. The eviction strategy that `drain` gives is left out while the pool has it.
 */
export function specOf(
  { nameGeneration = {}, ...made }: PoolTemplate,
  { nameGeneration: before = {}, drain }: Pick<PoolSpec, 'nameGeneration' | 'drain'>,
): { template: VmTemplate; nameGeneration: NameGeneration } {
  const template = drain === undefined ? made : withoutExternal(made);
  const flags = NAME_GENERATION_FLAGS.filter(
    (flag) => (hasEffect(flag, template) ? nameGeneration[flag] : before[flag]) === true,
  );
  return { template, nameGeneration: Object.fromEntries(flags.map((flag) => [flag, true])) };
}

/** KubeVirt then refuses evictions of the VMs, notes on the VMI that it is to leave its node, and acts no further. */
function withExternalEviction(template: VmTemplate): VmTemplate {
  const vmi = template.spec.template;
  if (vmi.spec?.evictionStrategy != null) return template;
  return withVmi(template, { ...vmi, spec: { ...vmi.spec, evictionStrategy: EXTERNAL } });
}

function withoutExternal(template: VmTemplate): VmTemplate {
  const vmi = template.spec.template;
  if (vmi.spec?.evictionStrategy !== EXTERNAL) return template;
  const { evictionStrategy: _external, ...spec } = vmi.spec;
  return withVmi(template, { ...vmi, spec });
}

const withVmi = (template: VmTemplate, vmi: VmTemplate['spec']['template']): VmTemplate => ({
  ...template,
  spec: { ...template.spec, template: vmi },
});

const hasEffect = (flag: keyof NameGeneration, { spec }: VmTemplate): boolean =>
  numberedReferences[flag](spec).some(isNamed);
